// SPDX-License-Identifier: Apache-2.0
#include "tree/io/listener.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <set>

#include "tree/io/peer_uid.hpp"
#include "tree/io/surroundings.hpp"
#include "tree/wire/ipv4.hpp"

namespace charmtree::io {

namespace {

constexpr int kTurns = 64;  // connections taken before others get the loop

Error failed(const std::string& what, int error) {
  return {Errc::spawn_failed, Phase::spawn, fmt::format("{}: {}", what, strerror(error)), {}};
}

Listener::Peer peer_of(const sockaddr_storage& from) {
  if (from.ss_family != AF_INET) return {};
  sockaddr_in peer{};
  std::memcpy(&peer, &from, sizeof peer);
  return {ntohl(peer.sin_addr.s_addr), ntohs(peer.sin_port)};
}

}  // namespace

Result<ListeningSocket> listen_tcp(std::uint32_t ipv4, std::uint16_t port) {
  UniqueFd fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  const int on = 1;
  if (port != 0) ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // what is accepted inherits it
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(ipv4);
  address.sin_port = htons(port);
  socklen_t size = sizeof address;
  if (!fd || ::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::listen(fd.get(), Listener::kBacklog) != 0 ||
      ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    const int error = errno;
    const std::string at = port == 0 ? "" : fmt::format(" port {}", port);
    return failed(fmt::format("cannot listen on {}{}", wire::dotted(ipv4), at), error);
  }
  return ListeningSocket{std::move(fd), ntohs(address.sin_port)};
}

Result<std::uint16_t> Listener::open_tcp(std::uint32_t address, std::uint16_t port) {
  auto socket = listen_tcp(address, port);
  if (!socket) return socket.error();
  socket_.assign(socket->fd.release());
  return socket->port;
}

std::optional<LocalAddress> local_address(const std::string& path) {
  LocalAddress local;
  if (path.size() >= sizeof local.address.sun_path) return {};
  local.address.sun_family = AF_UNIX;
  std::memcpy(local.address.sun_path, path.c_str(), path.size());
  local.size = sizeof local.address;
  if (path.starts_with('@')) {
    local.address.sun_path[0] = '\0';
    local.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  }
  return local;
}

/// From the kernel's table; both ends of a connection are in it.
std::vector<std::string> local_names(const std::string& head) {
  std::set<std::string> names;
  std::ifstream table("/proc/net/unix");
  for (std::string line; std::getline(table, line);) {
    const auto name = line.rfind(' ');
    if (name != std::string::npos && line.compare(name + 1, head.size(), head) == 0)
      names.insert(line.substr(name + 1));
  }
  return {names.begin(), names.end()};
}

UniqueFd connect_to_own(const std::string& path) {
  const auto address = local_address(path);
  UniqueFd fd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  if (!fd || !address || ::connect(fd.get(), address->get(), address->size) != 0) return {};
  const auto owner = unix_peer(fd.get());
  if (!owner || owner->uid != ::geteuid()) return {};
  return fd;
}

UniqueFd find_own(const std::string& name) {
  std::vector<std::string> names = local_names(name + "-");
  names.insert(names.begin(), name);
  for (const std::string& each : names) {
    if (UniqueFd fd = connect_to_own(each)) return fd;
  }
  return {};
}

void remove_stale_socket(const std::string& path) {
  const auto local = local_address(path);
  const UniqueFd fd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  if (!local || !fd) return;
  if (::connect(fd.get(), local->get(), local->size) != 0 && errno == ECONNREFUSED) ::unlink(path.c_str());
}

Result<void> Listener::open_local(const std::string& path) {
  const auto local = local_address(path);
  if (!local) return Error{Errc::spawn_failed, Phase::spawn, path + " is too long for a socket", {}};
  if (!path.starts_with('@')) ::unlink(path.c_str());
  UniqueFd fd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  if (!fd || ::bind(fd.get(), local->get(), local->size) != 0 || ::listen(fd.get(), kBacklog) != 0) {
    return failed("cannot listen on " + path, errno);
  }
  socket_.assign(fd.release());
  return {};
}

namespace {

/// Whoever has bound a name listens a moment later; nothing tells when.
bool is_held_by_us(const std::string& name) {
  constexpr int kLooks = 20, kPauseMs = 5;
  const auto address = local_address(name);
  for (int look = 0; address && look < kLooks; ++look) {
    const UniqueFd fd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    if (::connect(fd.get(), address->get(), address->size) == 0) return peer_uid(fd.get()) == ::geteuid();
    ::poll(nullptr, 0, kPauseMs);
  }
  return false;
}

}  // namespace

Result<void> Listener::open_to_seekers(const std::string& name) {
  for (const std::string& other : local_names(name + "-")) {
    if (connect_to_own(other)) return failed("cannot listen on " + name, EADDRINUSE);
  }
  auto opened = open_local(name);
  if (opened || is_held_by_us(name)) return opened;
  std::uint64_t end = 0;
  const std::string random = random_bytes(sizeof end);
  std::memcpy(&end, random.data(), sizeof end);
  return open_local(fmt::format("{}-{:016x}", name, end));
}

void Listener::accept() {
  socket_.async_wait(asio::posix::stream_descriptor::wait_read, [this](error_code ec) {
    if (ec) return;
    for (int turn = 0; turn < kTurns && socket_.is_open(); ++turn) {
      sockaddr_storage from{};
      socklen_t size = sizeof from;
      const int fd = ::accept4(socket_.native_handle(), reinterpret_cast<sockaddr*>(&from), &size,
                               SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (fd >= 0) {
        admit_(fd, peer_of(from));
        continue;
      }
      if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM) break;
      pause_.expires_after(std::chrono::milliseconds{100});  // let some close first
      pause_.async_wait([this](error_code stopped) {
        if (!stopped) accept();
      });
      return;
    }
    if (socket_.is_open()) accept();
  });
}

void Listener::close() {
  error_code ignored;
  socket_.close(ignored);
  pause_.cancel();
}

}  // namespace charmtree::io
