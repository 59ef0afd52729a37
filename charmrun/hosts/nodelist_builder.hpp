// SPDX-License-Identifier: Apache-2.0
// Puts a Nodelist together. Options in force are indices into the table of distinct options, so that a
// further host costs one look-up of its name. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>

#include "charmrun/hosts/host_set.hpp"
#include "charmrun/hosts/nodelist.hpp"

namespace charmtree {

class NodelistBuilder {
public:
  NodelistBuilder() { intern({}); }

  /// Where these options are in the table.
  std::uint32_t intern(HostOptions options);
  const HostOptions& options(std::uint32_t index) const { return list_.options[index]; }

  /// The host of this name, which has been mentioned once more; a new one has these options, whatever else
  /// was named with it. It holds until the next call.
  NodelistHost& mention(NamedHost named, std::uint32_t options);

  bool is_empty() const { return list_.hosts.empty(); }

  /// The list. `gives_slots`: whatever the hosts' options say.
  Nodelist take(bool gives_slots);

private:
  std::map<HostOptions, std::uint32_t> known_options_;
  std::unordered_map<std::string, std::uint32_t> known_hosts_;
  Nodelist list_;
};

}  // namespace charmtree
