// SPDX-License-Identifier: Apache-2.0
#include "charmrun/plan/own_address.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <net/if.h>

#include "tree/io/asio.hpp"
#include "tree/io/resolver.hpp"
#include "tree/io/surroundings.hpp"
#include "tree/wire/address.hpp"
#include "tree/wire/ipv4.hpp"
#include "tree/wire/words.hpp"

namespace charmtree {

namespace {

constexpr Duration kResolveWithin = 2s;

Result<std::uint32_t> address_of_own_name() {
  const std::string name = io::own_host_name();
  io::asio::io_context io{1};
  io::Resolver resolver{io};
  Result<io::Addresses> found = io::Addresses{};
  resolver.resolve(name, kResolveWithin, [&](Result<io::Addresses> result) { found = std::move(result); });
  io.run();
  if (!found)
    return bad_input(fmt::format("++usehostname: {}", found.error().what), "give the address by ++useip");
  for (const auto& address : *found) {
    if (address.is_v4()) return address.to_v4().to_uint();
  }
  return bad_input(fmt::format("++usehostname: {} has no IPv4 address", name), "give it by ++useip");
}

}  // namespace

Result<std::string> chosen_network(const Options& options) {
  const std::string &interface = options.address.interface, &subnet = options.address.subnet;
  if (!interface.empty() && !subnet.empty())
    return bad_input("++iface and ++subnet: each says it alone", "leave one of them out");
  if (!subnet.empty() && !wire::parse_subnet(subnet))
    return bad_input(fmt::format("'{}' (++subnet) is no network", quotable(subnet)),
                     "it looks like 192.0.2.0/24 or 2001:db8::/32");
  if (interface.size() >= IFNAMSIZ || interface.find_first_of("/ ") != std::string::npos)
    return bad_input(fmt::format("'{}' (++iface) is no name of an interface", quotable(interface)),
                     "it looks like eth0; `ip address` shows them");
  return interface.empty() ? subnet : interface;
}

Result<std::uint32_t> chosen_address(const Options& options) {
  std::uint32_t address = 0;
  if (options.address.by_host_name) {
    auto resolved = address_of_own_name();
    if (!resolved) return resolved.error();
    address = *resolved;
  } else if (!options.address.own.empty()) {
    in_addr text{};
    if (::inet_pton(AF_INET, options.address.own.c_str(), &text) != 1)
      return bad_input(
          fmt::format("'{}' (++useip, $CHARMRUN_IP) is no IPv4 address", quotable(options.address.own)),
          "it looks like 192.0.2.1");
    address = ntohl(text.s_addr);
  } else {
    return 0U;
  }
  const std::uint32_t first = address >> 24;
  if (first == 0 || first == 127 || first >= 224)
    return bad_input(fmt::format("no other host can reach this machine at {} ({})", wire::dotted(address),
                                 options.address.by_host_name ? "++usehostname" : "++useip, $CHARMRUN_IP"),
                     "leave it out, or give the address that the others know by ++useip");
  return address;
}

std::string hosts_file() {
  constexpr std::size_t kMostBytes = 16U << 20;
  auto text = io::read_file("/etc/hosts", kMostBytes);
  return text ? std::move(*text) : std::string{};
}

}  // namespace charmtree
