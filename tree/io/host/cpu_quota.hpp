// SPDX-License-Identifier: Apache-2.0
// How much processor time the control groups of this process allow: containers and batch systems limit it
// without taking processors away.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tree/turn/binding.hpp"

namespace charmtree::io {

/// Where the kernel shows groups; others are for tests.
struct GroupSources {
  std::string own = "/proc/self/cgroup", all = "/sys/fs/cgroup";
};

/// Returns how many processors could run all the time by the smallest quota of this process's groups (v1 and
/// v2), rounded up; nothing: there is no quota.
std::optional<std::uint32_t> cpu_quota(const GroupSources& sources = {});

/// Leaves at most `most` cores and PUs, so that as many are counted.
void limit_count(proto::CpuMap& cpus, std::uint32_t most);

}  // namespace charmtree::io
