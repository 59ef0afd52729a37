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

namespace charmtree::io {

namespace {

constexpr std::uint32_t kKernel = 0;  // its netlink address

std::optional<uid_t> unix_peer(int fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return {};
  return peer.uid;
}

/// Of the socket with these two ends.
std::optional<inet_diag_msg> ask(const UniqueFd& netlink, const sockaddr_in& owner,
                                 const sockaddr_in& other) {
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
  sockaddr_nl from{};
  socklen_t from_size = sizeof from;
  const ssize_t got = ::recvfrom(netlink.get(), answer.data(), answer.size(), 0,
                                 reinterpret_cast<sockaddr*>(&from), &from_size);
  nlmsghdr header{};
  inet_diag_msg found{};
  if (from.nl_pid != kKernel || got < static_cast<ssize_t>(NLMSG_LENGTH(sizeof found))) return {};
  std::memcpy(&header, answer.data(), sizeof header);
  if (header.nlmsg_type != SOCK_DIAG_BY_FAMILY) return {};
  std::memcpy(&found, answer.data() + NLMSG_HDRLEN, sizeof found);
  return found;
}

UniqueFd open_netlink() {
  return UniqueFd{::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG)};
}

std::optional<sockaddr_storage> own_end(int fd) {
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size) != 0) return {};
  return own;
}

/// What the kernel says about the other end of a loopback TCP socket, of which this is `own`.
std::optional<inet_diag_msg> tcp_peer(UniqueFd& netlink, int fd, const sockaddr_storage& own) {
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) != 0) return {};
  if (own.ss_family != AF_INET || peer.ss_family != AF_INET) return {};
  sockaddr_in owner{}, other{};
  std::memcpy(&owner, &peer, sizeof owner);
  std::memcpy(&other, &own, sizeof other);
  if (!netlink) netlink = open_netlink();
  const auto found = ask(netlink, owner, other);
  if (!found) netlink.reset();  // a late answer must not be taken for that to the next question
  if (found && found->idiag_inode == 0) return {};  // closed already: nobody's, which would read as root's
  return found;
}

}  // namespace

PeerLookup::PeerLookup() : netlink_(open_netlink()) {}

std::optional<uid_t> PeerLookup::uid(int fd) {
  const auto own = own_end(fd);
  if (!own) return {};
  if (own->ss_family == AF_UNIX) return unix_peer(fd);
  const auto peer = tcp_peer(netlink_, fd, *own);
  return peer ? std::optional<uid_t>{peer->idiag_uid} : std::nullopt;
}

std::optional<std::uint64_t> PeerLookup::inode(int fd) {
  const auto own = own_end(fd);
  const auto peer = own ? tcp_peer(netlink_, fd, *own) : std::nullopt;
  return peer ? std::optional<std::uint64_t>{peer->idiag_inode} : std::nullopt;
}

std::optional<uid_t> peer_uid(int fd) {
  return PeerLookup{}.uid(fd);
}

}  // namespace charmtree::io
