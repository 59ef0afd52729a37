// SPDX-License-Identifier: Apache-2.0
// How far processors of a host are from each other, as hwloc has it.
#pragma once

#include <climits>
#include <memory>
#include <string>
#include <string_view>

struct hwloc_topology;

namespace charmtree::ibverbs {

class Nearness {
public:
  static constexpr unsigned kUnknown = UINT_MAX;

  /// As of ct_topology, with the NUL at its end. One that hwloc does not understand says nothing of any.
  explicit Nearness(std::string_view xml);

  /// Between processors here and there, as the kernel lists them ("0-3,8"): the latency between the NUMA
  /// nodes next to each other, by the kernel's measure, where 10 is that within a node; or kUnknown, the
  /// most.
  unsigned distance(const std::string& here, const std::string& there) const;

private:
  struct Destroys {
    void operator()(hwloc_topology* topology) const;
  };
  std::unique_ptr<hwloc_topology, Destroys> topology_;
};

}  // namespace charmtree::ibverbs
