// SPDX-License-Identifier: Apache-2.0
#include "tree/wire/cpus.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "tree/wire/fold.hpp"

namespace charmtree {

std::string_view name(CpuUnit unit) {
  static constexpr std::array<std::string_view, kCpuUnitCount> kNames = {"nothing",   "host", "socket",
                                                                         "NUMA node", "core", "PU"};
  return kNames[static_cast<std::size_t>(unit)];
}

std::string to_string(const Topology& topology) {
  const auto counted = [](std::uint32_t count, CpuUnit unit) {
    return fmt::format("{} {}{}", count, name(unit), count == 1 ? "" : "s");
  };
  return fmt::format("{}, {}, {}", counted(topology.sockets, CpuUnit::socket),
                     counted(topology.cores, CpuUnit::core), counted(topology.pus, CpuUnit::pu));
}

namespace wire {

void fold(std::vector<HostTopology>& topologies) {
  std::sort(topologies.begin(), topologies.end(),
            [](const auto& a, const auto& b) { return a.first_host < b.first_host; });
  std::vector<HostTopology> folded;
  for (const HostTopology& each : topologies) {
    if (!folded.empty() && folded.back().topology == each.topology &&
        folded.back().first_host + folded.back().hosts == each.first_host) {
      folded.back().hosts += each.hosts;
    } else {
      folded.push_back(each);
    }
  }
  topologies = std::move(folded);
}

std::string to_string(const Binding& binding) {
  if (binding.by == Binding::By::nobody || binding.count == 0 || binding.pus.empty()) return "not bound";
  std::string text = fmt::format("PU{} {}", binding.pus.size() == 1 ? "" : "s", fold_ranges(binding.pus));
  if (binding.unit != CpuUnit::pu) {
    std::vector<std::uint32_t> units(std::min<std::size_t>(binding.count, binding.pus.size()));
    for (std::uint32_t i = 0; i < units.size(); ++i) units[i] = binding.first + i;
    text = fmt::format("{}{} {} ({})", name(binding.unit), units.size() == 1 ? "" : "s", fold_ranges(units),
                       text);
  }
  return text + (binding.by == Binding::By::itself ? ", as Charm++ programs bind themselves" : "");
}

}  // namespace wire
}  // namespace charmtree
