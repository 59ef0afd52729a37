// SPDX-License-Identifier: Apache-2.0
#include "tree/io/host/host_ports.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <utility>

#include "tree/base/random.hpp"

namespace charmtree::io {

namespace {

constexpr std::uint16_t kLowest = 10'000;  // below are the ports of well-known services
/// What a process costs its launcher at most: three pipes, its connection, a socket of each kind. A row is
/// not worth it that leaves too few for what else there is.
constexpr rlim_t kDescriptorsOfProcess = 6, kOtherDescriptors = 256;

/// At all addresses of the host: by IPv6 those of IPv4, too. Port 0: any. Empty: errno says why not.
UniqueFd bound_socket(int family, wire::PortKind kind, std::uint16_t port) {
  const int type = kind == wire::PortKind::tcp ? SOCK_STREAM : SOCK_DGRAM;
  UniqueFd socket{::socket(family, type | SOCK_CLOEXEC, 0)};
  if (!socket) return {};
  sockaddr_storage address{};
  address.ss_family = static_cast<sa_family_t>(family);
  socklen_t size = sizeof(sockaddr_in);
  if (family == AF_INET6) {
    const int off = 0;
    ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    size = sizeof(sockaddr_in6);
  }
  static_assert(offsetof(sockaddr_in, sin_port) == offsetof(sockaddr_in6, sin6_port));
  const std::uint16_t number = htons(port);
  std::memcpy(reinterpret_cast<char*>(&address) + offsetof(sockaddr_in, sin_port), &number, sizeof number);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0) return socket;
  const int error = errno;
  socket.reset();
  errno = error;
  return {};
}

UniqueFd bound_socket(wire::PortKind kind, std::uint16_t port) {
  UniqueFd socket = bound_socket(AF_INET6, kind, port);
  const bool has_none = !socket && (errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL);
  return has_none ? bound_socket(AF_INET, kind, port) : std::move(socket);
}

bool leaves_descriptors(std::uint32_t processes) {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
         limit.rlim_cur >= kOtherDescriptors + kDescriptorsOfProcess * processes;
}

/// Beside those that the kernel gives: below or above, where there are more.
HostPorts::Range seldom_used() {
  std::uint32_t low = 0, high = 0;
  std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> low >> high;
  const std::uint32_t below = low > kLowest ? low - kLowest : 0;
  const std::uint32_t above = high < UINT16_MAX ? UINT16_MAX - high : 0;
  if (low == 0 || (below == 0 && above == 0)) return {kLowest, UINT16_MAX};
  if (below >= above) return {kLowest, static_cast<std::uint16_t>(low - 1)};
  return {static_cast<std::uint16_t>(high + 1), UINT16_MAX};
}

}  // namespace

void HostPorts::begin(std::uint64_t seed) {
  seed_ = seed;
  rows_ = {};
}

Result<UniqueFd> HostPorts::take(const proto::PassedPort& port) {
  Row& row = rows_[wire::place_of(port.kind)];
  if (!std::exchange(row.is_sought, true)) seek(row, port);
  const bool is_in_row = port.rank < row.sockets.size();
  if (is_in_row && row.sockets[port.rank]) return std::move(row.sockets[port.rank]);
  UniqueFd socket;
  if (is_in_row) socket = bound_socket(port.kind, static_cast<std::uint16_t>(row.first + port.rank));
  if (!socket) socket = bound_socket(port.kind, 0);
  if (socket) return socket;
  return Error{Errc::spawn_failed, Phase::spawn,
               fmt::format("no port for a process of this host: {}", std::strerror(errno))};
}

/// Whatever is wrong but a port that is taken would be so elsewhere, too.
void HostPorts::seek(Row& row, const proto::PassedPort& port) {
  const Range range = range_ ? *range_ : seldom_used();
  const std::uint32_t span = range.last - std::uint32_t{range.first} + 1;
  if (port.of > span || !leaves_descriptors(port.of)) return;
  Random places{seed_};
  for (int i = 0; i < kTries; ++i) {
    row.first = static_cast<std::uint16_t>(range.first + places.below(span - port.of + 1));
    row.sockets.clear();
    while (row.sockets.size() < port.of) {
      const auto next = static_cast<std::uint16_t>(row.first + row.sockets.size());
      UniqueFd socket = bound_socket(port.kind, next);
      if (!socket) break;
      row.sockets.push_back(std::move(socket));
    }
    if (row.sockets.size() == port.of) return;
    if (errno != EADDRINUSE && errno != EACCES) break;
  }
  row.sockets.clear();
}

}  // namespace charmtree::io
