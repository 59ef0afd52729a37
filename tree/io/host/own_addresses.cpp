// SPDX-License-Identifier: Apache-2.0
#include "tree/io/host/own_addresses.hpp"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "tree/io/asio.hpp"
#include "tree/io/resolver.hpp"
#include "tree/io/surroundings.hpp"

namespace charmtree::io {

namespace {

constexpr std::size_t kMostNamed = 200;  // bytes of interfaces in a message

/// Nobody but this machine's own containers or virtual machines is there. Docker calls its further ones br-
/// and 12 hexadecimal digits; others are called br-ex or br-lan where a host has its only address.
bool is_bridge(std::string_view interface) {
  static constexpr std::array kBridges = {"docker", "virbr",  "lxc",     "lxdbr", "incusbr",
                                          "cni",    "podman", "flannel", "cali",  "veth"};
  constexpr std::size_t kDockersName = 15;
  if (interface.starts_with("br-") && interface.size() == kDockersName)
    return interface.find_first_not_of("0123456789abcdef", 3) == std::string_view::npos;
  return std::any_of(kBridges.begin(), kBridges.end(),
                     [&](const char* name) { return interface.starts_with(name); });
}

wire::Address address_in(const sockaddr* place) {
  if (place->sa_family == AF_INET) {
    sockaddr_in ipv4{};
    std::memcpy(&ipv4, place, sizeof ipv4);
    return ntohl(ipv4.sin_addr.s_addr);
  }
  if (place->sa_family != AF_INET6) return {};
  sockaddr_in6 ipv6{};
  std::memcpy(&ipv6, place, sizeof ipv6);
  return wire::Address::of_bytes(ipv6.sin6_addr.s6_addr);
}

/// Those of loopback and of the link alone mean another machine elsewhere.
bool is_for_others(const wire::Address& address) {
  return address.is_known() && !address.is_loopback() && !address.is_link_local();
}
wire::Address if_for_others(const wire::Address& address) {
  return is_for_others(address) ? address : wire::Address{};
}

/// IPv4 first.
template <class Visit>
void for_each_interface(Visit visit) {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return;
  for (const bool ipv4 : {true, false}) {
    for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
      if (entry->ifa_addr == nullptr || (entry->ifa_flags & IFF_UP) == 0) continue;
      const wire::Address address = address_in(entry->ifa_addr);
      if (address.is_known() && address.is_ipv4() == ipv4) visit(std::string_view{entry->ifa_name}, address);
    }
  }
  ::freeifaddrs(list);
}

/// Third word of SSH_CONNECTION: the address at which sshd was reached.
wire::Address ssh_connection_address() {
  std::string address = ssh_connection_words()[2];
  return if_for_others(wire::parse_address(address.substr(0, address.find('%'))).value_or(wire::Address{}));
}

/// The address from which packets to `peer` would leave; none if there is no way. Sends nothing.
wire::Address source_towards(const asio::ip::address& peer) {
  const asio::ip::tcp::endpoint far{peer, 9};
  const UniqueFd probe{::socket(far.protocol().family(), SOCK_DGRAM | SOCK_CLOEXEC, 0)};
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  const bool ok = ::connect(probe.get(), far.data(), static_cast<socklen_t>(far.size())) == 0 &&
                  ::getsockname(probe.get(), reinterpret_cast<sockaddr*>(&own), &size) == 0;
  return ok ? if_for_others(address_in(reinterpret_cast<sockaddr*>(&own))) : wire::Address{};
}

/// Of the interfaces that are up: the address of that one, or the first in that network.
Result<wire::Address> address_in_network(const std::string& network) {
  const std::optional<wire::Subnet> subnet = wire::parse_subnet(network);
  wire::Address found;
  std::string there;
  for_each_interface([&](std::string_view name, const wire::Address& address) {
    if (!is_for_others(address)) return;
    const bool fits = subnet ? subnet->has(address) : name == network;
    if (fits && !found.is_known()) found = address;
    if (there.size() < kMostNamed)
      there += fmt::format("{}{} {}", there.empty() ? "" : ", ", name, wire::text_of(address));
  });
  if (found.is_known()) return found;
  return Error{
      Errc::bad_input, Phase::spawn,
      subnet ? fmt::format("no interface is in {} (++subnet): there are {}", network, there)
             : fmt::format("no interface {} with an address is up (++iface): there are {}", network, there),
      "++subnet ADDRESS/BITS chooses on each host the interface that is in that network"};
}

/// IPv4 of the interface that has this address, or none.
wire::Address ipv4_beside(const wire::Address& address) {
  std::string found_at;
  for_each_interface([&](std::string_view name, const wire::Address& one) {
    if (one == address) found_at = name;
  });
  wire::Address ipv4;
  for_each_interface([&](std::string_view name, const wire::Address& one) {
    if (name == found_at && one.is_ipv4() && is_for_others(one) && !ipv4.is_known()) ipv4 = one;
  });
  return ipv4;
}

}  // namespace

std::uint32_t interface_address() {
  const std::vector<wire::Address> addresses = addresses_for_others();
  return addresses.empty() ? 0 : addresses.front().ipv4();
}

Result<wire::Address> reachable_address(const wire::JobSpec& job, const Host& self) {
  if (job.private_network) return wire::Address{INADDR_LOOPBACK};
  if (!job.spawn.network.empty()) return address_in_network(job.spawn.network);
  const Via via = job.profiles[self.profile].via;
  if (via != Via::ssh) {
    const auto said = wire::parse_address(self.address);
    if (said && is_for_others(*said)) return *said;
  }
  const wire::Address reached = via == Via::local ? wire::Address{} : ssh_connection_address();
  if (reached.is_known()) {
    const wire::Address ipv4 = reached.is_ipv4() ? reached : ipv4_beside(reached);
    return ipv4.is_known() ? ipv4 : reached;
  }
  const std::vector<wire::Address> addresses = addresses_for_others();
  return addresses.empty() ? wire::Address{INADDR_LOOPBACK} : addresses.front();
}

std::vector<wire::Address> addresses_for_others() {
  std::vector<wire::Address> addresses;
  for_each_interface([&](std::string_view name, const wire::Address& address) {
    if (is_for_others(address) && !is_bridge(name)) addresses.push_back(address);
  });
  return addresses;
}

std::vector<wire::Address> own_addresses() {
  std::vector<wire::Address> addresses;
  for_each_interface([&](std::string_view, const wire::Address& address) { addresses.push_back(address); });
  return addresses;
}

wire::Address address_towards(const std::vector<std::string>& hosts) {
  constexpr std::size_t kAsked = 16;
  constexpr Duration kPatience = 2s;
  asio::io_context io{1};
  Resolver resolver{io};  // names that time out must not hold up the others
  wire::Address own;
  for (std::size_t i = 0; i < hosts.size() && i < kAsked; ++i) {
    resolver.resolve(hosts[i], kPatience, [&](const Result<Addresses>& found) {
      for (std::size_t k = 0; found.ok() && k < found->size() && !own.is_ipv4(); ++k) {
        const wire::Address towards = source_towards((*found)[k]);
        if (towards.is_ipv4() || !own.is_known()) own = towards;
      }
      if (own.is_ipv4()) io.stop();
    });
  }
  io.run();
  return own;
}

bool is_own_address(const wire::Address& address) {
  const std::vector<wire::Address> own = own_addresses();
  return address.is_loopback() || std::find(own.begin(), own.end(), address) != own.end();
}

}  // namespace charmtree::io
