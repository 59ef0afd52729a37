// SPDX-License-Identifier: Apache-2.0
// For TCP the other end is a socket of this machine too, with our addresses swapped; sock_diag(7) gives its
// owner for one exact address pair in microseconds, where reading /proc/net/tcp would take milliseconds
// (DESIGN D2).
#include "tree/io/peer_uid.hpp"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstring>

#include "tree/io/unique_fd.hpp"

namespace charmtree::io {

namespace {

std::optional<uid_t> unix_peer(int fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return {};
  return peer.uid;
}

std::optional<inet_diag_msg> tcp_owner(const sockaddr_in& owner, const sockaddr_in& other) {
  const UniqueFd netlink{::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG)};
  if (!netlink) return {};
  struct {
    nlmsghdr header;
    inet_diag_req_v2 body;
  } request{};
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.header.nlmsg_flags = NLM_F_REQUEST;
  request.body.sdiag_family = AF_INET;
  request.body.sdiag_protocol = IPPROTO_TCP;
  request.body.idiag_states = ~0U;
  request.body.id.idiag_sport = owner.sin_port;
  request.body.id.idiag_dport = other.sin_port;
  request.body.id.idiag_src[0] = owner.sin_addr.s_addr;
  request.body.id.idiag_dst[0] = other.sin_addr.s_addr;
  request.body.id.idiag_cookie[0] = request.body.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  if (::send(netlink.get(), &request, sizeof request, 0) != static_cast<ssize_t>(sizeof request)) return {};
  alignas(nlmsghdr) std::array<char, 4096> answer;
  const ssize_t got = ::recv(netlink.get(), answer.data(), answer.size(), 0);
  nlmsghdr header{};
  inet_diag_msg found{};
  if (got < static_cast<ssize_t>(NLMSG_LENGTH(sizeof found))) return {};
  std::memcpy(&header, answer.data(), sizeof header);
  if (header.nlmsg_type != SOCK_DIAG_BY_FAMILY) return {};
  std::memcpy(&found, answer.data() + NLMSG_HDRLEN, sizeof found);
  if (found.idiag_inode == 0) return {};  // closed already: nobody's, which would read as root's
  return found;
}

/// What the kernel says about the other end of a loopback TCP socket.
std::optional<inet_diag_msg> tcp_peer(int fd) {
  sockaddr_storage peer{}, self{};
  socklen_t peer_size = sizeof peer, self_size = sizeof self;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&self), &self_size) != 0 ||
      ::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &peer_size) != 0)
    return {};
  if (self.ss_family != AF_INET || peer.ss_family != AF_INET) return {};
  sockaddr_in owner{}, other{};
  std::memcpy(&owner, &peer, sizeof owner);
  std::memcpy(&other, &self, sizeof other);
  return tcp_owner(owner, other);
}

}  // namespace

std::optional<uid_t> peer_uid(int fd) {
  sockaddr_storage self{};
  socklen_t size = sizeof self;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&self), &size) != 0) return {};
  if (self.ss_family == AF_UNIX) return unix_peer(fd);
  const auto peer = tcp_peer(fd);
  return peer ? std::optional<uid_t>{peer->idiag_uid} : std::nullopt;
}

std::optional<std::uint64_t> peer_inode(int fd) {
  const auto peer = tcp_peer(fd);
  return peer ? std::optional<std::uint64_t>{peer->idiag_inode} : std::nullopt;
}

}  // namespace charmtree::io
