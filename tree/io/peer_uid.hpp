// SPDX-License-Identifier: Apache-2.0
// Who is at the other end of a local connection.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "tree/io/sock_diag.hpp"

namespace charmtree::io {

/// Who owns the other end of a connected unix-domain socket: of a client's end, who listens.
std::optional<ucred> unix_peer(int fd);

/// The uid of the process that owns the other end of `fd`, a connected unix-domain socket or loopback TCP
/// (IPv4) socket. Nothing if the kernel does not say (the other end has been closed already).
std::optional<uid_t> peer_uid(int fd);

/// The same for many connections, one after the other: the kernel is asked through one socket.
class PeerLookup {
public:
  std::optional<uid_t> uid(int fd);
  /// The inode of the other end's socket, for loopback TCP: `socket:[INODE]` in its owner's /proc/PID/fd.
  std::optional<std::uint64_t> inode(int fd);

private:
  std::optional<TcpSocket> tcp_peer(const TcpEnds& ends);
  SockDiag kernel_;
};

}  // namespace charmtree::io
