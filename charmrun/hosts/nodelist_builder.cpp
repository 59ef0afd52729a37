// SPDX-License-Identifier: Apache-2.0
#include "charmrun/hosts/nodelist_builder.hpp"

#include <algorithm>
#include <utility>

#include "tree/wire/node_table.hpp"

namespace charmtree {

std::uint32_t NodelistBuilder::intern(HostOptions options) {
  const auto [entry, added] =
      known_options_.try_emplace(std::move(options), static_cast<std::uint32_t>(list_.options.size()));
  if (added) list_.options.push_back(entry->first);
  return entry->second;
}

NodelistHost& NodelistBuilder::mention(NamedHost named, std::uint32_t options) {
  const auto [known, added] =
      known_hosts_.try_emplace(named.name, static_cast<std::uint32_t>(list_.hosts.size()));
  if (added) list_.hosts.push_back({std::move(named.name), 0, options});
  const std::uint32_t place = known->second;
  NodelistHost& host = list_.hosts[place];
  host.slots = std::min(host.slots + std::max(named.slots, 1U), wire::kMaxProcesses);
  if (named.login.empty() && named.port == 0) return host;
  HostOptions own = list_.options_of(host);
  if (!named.login.empty()) own.login = std::move(named.login);
  if (named.port != 0) own.port = named.port;
  host.options = intern(std::move(own));
  return host;
}

Nodelist NodelistBuilder::take(bool gives_slots) {
  list_.gives_slots = gives_slots;
  for (NodelistHost& host : list_.hosts) {
    const std::uint64_t each = list_.options_of(host).slots;
    if (each == 0) continue;
    list_.gives_slots = true;
    host.slots = static_cast<std::uint32_t>(std::min<std::uint64_t>(host.slots * each, wire::kMaxProcesses));
  }
  return std::move(list_);
}

}  // namespace charmtree
