// SPDX-License-Identifier: Apache-2.0
// Ports that are reserved for processes, in this process.
#include <catch2/catch.hpp>

#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <set>
#include <vector>

#include "tree/io/host/host_ports.hpp"

namespace charmtree::host_ports_test {

using namespace charmtree::io;
using wire::PortKind;

namespace {

struct Name {
  sa_family_t family = AF_UNSPEC;
  std::uint16_t port = 0;
  bool is_any = false;  // all addresses
};
Name name_of(const UniqueFd& socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  REQUIRE(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
  sockaddr_in four{};
  sockaddr_in6 six{};
  std::memcpy(&four, &address, sizeof four);
  std::memcpy(&six, &address, sizeof six);
  const bool is_six = address.ss_family == AF_INET6;
  return {address.ss_family, ntohs(is_six ? six.sin6_port : four.sin_port),
          is_six ? IN6_IS_ADDR_UNSPECIFIED(&six.sin6_addr) != 0 : four.sin_addr.s_addr == INADDR_ANY};
}

UniqueFd taken(HostPorts& ports, PortKind kind, std::uint32_t rank, std::uint32_t of) {
  auto socket = ports.take({kind, rank, of, {}});
  REQUIRE(socket);
  return std::move(*socket);
}

/// 0: it cannot be had.
std::uint16_t bind_to(const UniqueFd& socket, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  return ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? port : 0;
}

/// Descriptors above the ones that are open now, while it lives.
class DescriptorLimit {
public:
  explicit DescriptorLimit(rlim_t more) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const UniqueFd next{::dup(0)};
    rlimit now = before_;
    now.rlim_cur = static_cast<rlim_t>(next.get()) + more;
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &now) == 0);
  }
  ~DescriptorLimit() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  DescriptorLimit(const DescriptorLimit&) = delete;

private:
  rlimit before_{};
};

}  // namespace

TEST_CASE("the ports of a host's processes follow each other by their ranks", "[ports]") {
  constexpr std::uint32_t kProcesses = 62;
  HostPorts ports;
  ports.begin(7);
  for (const PortKind kind : {PortKind::tcp, PortKind::udp}) {
    std::vector<UniqueFd> sockets(kProcesses);
    for (std::uint32_t i = 0; i < kProcesses; ++i) {
      const std::uint32_t rank = (i * 7) % kProcesses;  // in whatever order they ask
      sockets[rank] = taken(ports, kind, rank, kProcesses);
    }
    const std::uint16_t first = name_of(sockets[0]).port;
    for (std::uint32_t rank = 0; rank < kProcesses; ++rank) {
      CHECK(name_of(sockets[rank]).port == first + rank);
      CHECK(name_of(sockets[rank]).is_any);
    }
    std::ifstream range("/proc/sys/net/ipv4/ip_local_port_range");
    std::uint32_t low = 0, high = 0;
    REQUIRE(range >> low >> high);
    CHECK((first + kProcesses <= low || first > high));  // not those that connections get
  }
}

TEST_CASE("a port of a process that has not asked yet cannot be had by others", "[ports]") {
  HostPorts ports;
  const UniqueFd own = taken(ports, PortKind::tcp, 0, 2);
  const UniqueFd other{::socket(AF_INET, SOCK_STREAM, 0)};
  const auto next = static_cast<std::uint16_t>(name_of(own).port + 1);
  const int on = 1;
  ::setsockopt(other.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  CHECK(bind_to(other, next) == 0);
  CHECK(name_of(taken(ports, PortKind::tcp, 1, 2)).port == next);
}

TEST_CASE("launchers of a job seek in the same places; where ports are taken, in others", "[ports]") {
  HostPorts ports, others;
  ports.begin(3);
  others.begin(3);
  UniqueFd one = taken(ports, PortKind::udp, 0, 8);
  const UniqueFd two = taken(others, PortKind::udp, 0, 8);
  CHECK(name_of(two).port != name_of(one).port);
  for (std::uint32_t rank = 1; rank < 8; ++rank)
    CHECK(name_of(taken(others, PortKind::udp, rank, 8)).port == name_of(two).port + rank);

  const std::uint16_t port = name_of(one).port;
  one.reset();
  ports.begin(9);  // another run: the others are free again
  HostPorts third;
  third.begin(3);
  CHECK(name_of(taken(third, PortKind::udp, 0, 8)).port == port);
}

TEST_CASE("where no row is free, each process gets any port", "[ports]") {
  HostPorts finder;
  std::vector<UniqueFd> row;
  for (std::uint32_t rank = 0; rank < 4; ++rank) row.push_back(taken(finder, PortKind::tcp, rank, 4));
  const std::uint16_t first = name_of(row[0]).port;
  row.erase(row.begin() + 2);  // three of four are taken
  HostPorts ports{{first, static_cast<std::uint16_t>(first + 3)}};
  std::set<std::uint16_t> all;
  std::vector<UniqueFd> sockets;
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    sockets.push_back(taken(ports, PortKind::tcp, rank, 4));
    all.insert(name_of(sockets.back()).port);
  }
  CHECK(all.size() == 4);

  HostPorts narrow{{first, first}};
  CHECK(name_of(taken(narrow, PortKind::tcp, 1, 2)).port != 0);
}

TEST_CASE("a process that is started again gets the same port, or another if that is taken", "[ports]") {
  HostPorts ports;
  UniqueFd socket = taken(ports, PortKind::tcp, 1, 3);
  const std::uint16_t port = name_of(socket).port;
  socket.reset();
  socket = taken(ports, PortKind::tcp, 1, 3);
  CHECK(name_of(socket).port == port);
  const UniqueFd again = taken(ports, PortKind::tcp, 1, 3);
  CHECK(name_of(again).port != port);
  CHECK(name_of(taken(ports, PortKind::tcp, 2, 3)).port == port + 1);
}

TEST_CASE("a process that comes from another host gets any port", "[ports]") {
  HostPorts ports;
  const UniqueFd first = taken(ports, PortKind::tcp, 0, 2);
  CHECK(name_of(taken(ports, PortKind::tcp, 2, 3)).port != 0);
  CHECK(name_of(taken(ports, PortKind::tcp, 1, 2)).port == name_of(first).port + 1);
}

TEST_CASE("no row is bound where that would leave too few descriptors", "[ports]") {
  HostPorts ports;
  const DescriptorLimit limit{100};
  std::vector<UniqueFd> sockets;
  sockets.push_back(taken(ports, PortKind::tcp, 0, 90));
  const UniqueFd next{::dup(0)};
  CHECK(next.get() == sockets[0].get() + 1);  // nothing else was kept
}

TEST_CASE("without a descriptor there is no port, and why is said", "[ports]") {
  HostPorts ports;
  {
    const DescriptorLimit limit{0};
    const auto socket = ports.take({PortKind::tcp, 0, 4, {}});
    REQUIRE_FALSE(socket);
    CHECK(socket.error().what == "no port for a process of this host: Too many open files");
  }
  CHECK(name_of(taken(ports, PortKind::tcp, 1, 4)).port != 0);
}

}  // namespace charmtree::host_ports_test
