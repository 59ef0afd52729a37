// SPDX-License-Identifier: Apache-2.0
#include "client-lib/ports.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "client-lib/charmtree.h"

namespace charmtree::client {

namespace {

/// 0: it has none.
std::uint16_t port_of(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  sockaddr_in6 six{};
  sockaddr_in four{};
  std::memcpy(&six, &address, sizeof six);
  std::memcpy(&four, &address, sizeof four);
  if (address.ss_family == AF_INET6) return ntohs(six.sin6_port);
  return address.ss_family == AF_INET ? ntohs(four.sin_port) : std::uint16_t{0};
}

/// -1: it cannot be.
int socket_at_any_port(int family, wire::PortKind kind) {
  const int type = kind == wire::PortKind::tcp ? SOCK_STREAM : SOCK_DGRAM;
  const int fd = ::socket(family, type | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  const int off = 0;
  if (family == AF_INET6) ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  sockaddr_storage address{};
  address.ss_family = static_cast<sa_family_t>(family);
  const auto size = static_cast<socklen_t>(family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in));
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), size) == 0) return fd;
  ::close(fd);
  return -1;
}

}  // namespace

Ports::~Ports() {
  for (const Place& each : places_) {
    if (each.fd >= 0) ::close(each.fd);
  }
}

bool Ports::heard(const wire::native::Port& port, int fd) {
  Place& at = place(port.kind);
  const std::uint16_t number = fd < 0 ? std::uint16_t{0} : port_of(fd);
  if (at.state != State::awaited || port.is_there != (number != 0)) {
    if (fd >= 0) ::close(fd);
    return false;
  }
  at = {port.is_there ? State::there : State::refused, fd, number};
  return true;
}

int Ports::take(wire::PortKind kind, std::uint16_t& number) {
  Place& at = place(kind);
  if (at.state != State::there) return at.state == State::taken ? CT_EORDER : CT_ENOPORT;
  number = at.number;
  at.state = State::taken;
  return std::exchange(at.fd, -1);
}

int Ports::open(wire::PortKind kind, std::uint16_t& number) {
  if (is_asked(kind)) return CT_EORDER;
  int fd = socket_at_any_port(AF_INET6, kind);
  if (fd < 0) fd = socket_at_any_port(AF_INET, kind);
  if (fd < 0) return CT_ENOPORT;
  place(kind) = {State::there, fd, port_of(fd)};
  return take(kind, number);
}

}  // namespace charmtree::client
