// SPDX-License-Identifier: Apache-2.0
// Plans of small jobs.
#pragma once

#include <cstdint>
#include <string>

#include "tree/node/root_plan.hpp"

namespace charmtree::test {

/// A process on each of so many hosts: h0, h1, ...
inline RootPlan plan_of(std::uint32_t hosts) {
  RootPlan plan;
  plan.job.hosts = plan.job.processes = hosts;
  plan.hosts.resize(hosts);
  for (std::uint32_t i = 0; i < hosts; ++i) {
    plan.hosts[i].index = plan.hosts[i].first_process = i;
    plan.hosts[i].processes = 1;
    plan.hosts[i].name = "h" + std::to_string(i);
  }
  return plan;
}

}  // namespace charmtree::test
