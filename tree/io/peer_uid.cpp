// SPDX-License-Identifier: Apache-2.0
// For TCP the other end is a socket of this machine too, with our addresses swapped.
#include "tree/io/peer_uid.hpp"

namespace charmtree::io {

std::optional<ucred> unix_peer(int fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return {};
  return peer;
}

/// What the kernel says about the other end of a loopback TCP socket. If it does not know our end either, it
/// has no sock_diag, and only its list, which takes longer, says who is there.
std::optional<TcpSocket> PeerLookup::tcp_peer(const TcpEnds& ends) {
  if (ends.own.ss_family != AF_INET || ends.peer.ss_family != AF_INET) return {};
  const TcpEnds other{ends.peer, ends.own};
  auto found = kernel_.find(other);
  if (!found && !kernel_.find(ends)) found = find_listed(other);
  if (found && found->inode == 0) return {};  // closed already: nobody's, which would read as root's
  return found;
}

std::optional<uid_t> PeerLookup::uid(int fd) {
  const auto ends = tcp_ends(fd);
  if (!ends) return {};
  if (ends->own.ss_family == AF_UNIX) {
    const auto owner = unix_peer(fd);
    return owner ? std::optional<uid_t>{owner->uid} : std::nullopt;
  }
  const auto peer = tcp_peer(*ends);
  return peer ? std::optional<uid_t>{peer->uid} : std::nullopt;
}

std::optional<std::uint64_t> PeerLookup::inode(int fd) {
  const auto ends = tcp_ends(fd);
  const auto peer = ends ? tcp_peer(*ends) : std::nullopt;
  return peer ? std::optional<std::uint64_t>{peer->inode} : std::nullopt;
}

std::optional<uid_t> peer_uid(int fd) {
  return PeerLookup{}.uid(fd);
}

}  // namespace charmtree::io
