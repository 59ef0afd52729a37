// SPDX-License-Identifier: Apache-2.0
// What a resource manager has given us: the hosts and slots of the allocation in which we run, as its
// environment and its files tell them. Pure: somebody else looks there.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "charmrun/cli/options.hpp"
#include "tree/base/result.hpp"

namespace charmtree {

struct Allocation {
  std::string manager;  // as people call it: "Slurm job 4711"
  std::string hosts;    // text of a list of hosts (nodelist.hpp)
  std::string source;   // where that is from, for messages: "$PBS_NODEFILE"
  /// By whose starter all of these hosts can be reached; none: by ssh. (One srun reaches one part of a
  /// heterogeneous job.)
  ResourceManager starter = ResourceManager::none;
  bool is_asked_for = false;                      // its manager's commands were run for it
  std::optional<std::int64_t> seconds_left = {};  // until it ends, if the manager says so
};

/// What is looked at.
struct AllocationView {
  std::function<std::optional<std::string>(const std::string& name)> variable;
  std::function<Result<std::string>(const std::string& path)> read_file;
  std::function<bool(std::string_view host)> is_here;  // a name of this machine
  /// Runs commands at the same time; what each has said, or nothing if it has failed.
  using Answers = std::vector<std::optional<std::string>>;
  std::function<Answers(const std::vector<std::vector<std::string>>& commands)> run;
  std::int64_t now = 0;  // seconds since 1970
  std::string user;      // our own, as a number
};

struct AllocationSearch {
  std::optional<Allocation> found;
  std::vector<std::string> remarks;  // allocations that are not used, and why; none if another is
};

/// Finds the allocation in which we are, if any. Unless its manager is asked for, a file of hosts that is
/// missing, or in which this machine is not, does not count: its variables may have come along with a login.
/// Errors are bad_input: what contradicts itself, several allocations at once, and a manager that was asked
/// for and names no hosts.
Result<AllocationSearch> find_allocation(ResourceManager wanted, const AllocationView& view);

}  // namespace charmtree
