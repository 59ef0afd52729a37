// SPDX-License-Identifier: Apache-2.0
// What the kernel knows of one TCP socket of this machine, ours or another's: sock_diag(7) tells it for one
// exact pair of addresses in microseconds, where reading /proc/net/tcp would take milliseconds (DESIGN D2).
#pragma once

#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "tree/io/unique_fd.hpp"

namespace charmtree::io {

/// Both of the same family, IPv4 or IPv6.
struct TcpEnds {
  sockaddr_storage own{}, peer{};
};

struct TcpSocket {
  uid_t uid = 0;
  std::uint64_t inode = 0;            // 0: closed, nobody's any more
  std::uint32_t unread = 0;           // bytes that have come
  std::optional<tcp_info> info = {};  // older kernels tell its beginning; the rest is 0
};

class SockDiag {
public:
  SockDiag();
  /// The socket whose ends these are; nothing: there is none, or the kernel does not say. `with_info`:
  /// wanted.
  std::optional<TcpSocket> find(const TcpEnds& ends, bool with_info = false);

private:
  UniqueFd netlink_;  // opened anew after an answer that was none
};

/// The same of IPv4 by /proc/net/tcp, without `info`: for kernels and containers that have no sock_diag.
std::optional<TcpSocket> find_listed(const TcpEnds& ends);

/// Of a connected TCP socket.
std::optional<TcpEnds> tcp_ends(int fd);

}  // namespace charmtree::io
