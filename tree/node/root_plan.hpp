// SPDX-License-Identifier: Apache-2.0
// What charmrun's user side has decided before a root begins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ccs/plan.hpp"
#include "tree/base/time.hpp"
#include "tree/job/run_plan.hpp"
#include "tree/turn/events.hpp"
#include "tree/wire/host.hpp"
#include "tree/wire/job_spec.hpp"

namespace charmtree {

/// ++on-failure restart: the program as a whole is started again.
struct RestartRules {
  std::uint32_t most = 10;             // times
  std::vector<std::string> arguments;  // behind the program's own then
  bool may_narrow = false;             // with fewer hosts and processes, if there are too few
  bool fast_failover = false;          // even if the lost ones may still run
};

/// Everything that a root needs to know before it begins.
struct RootPlan {
  wire::JobSpec job;
  std::vector<Host> hosts;                       // spares, at the end, without processes
  Duration time_limit{0};                        // 0: none
  bool int_ends = true;                          // SIGINT ends the job, else it is the program's
  std::map<std::string, std::string> key_names;  // forwarded keys (blobs) -> what to call them
  std::optional<ccs::Plan> ccs = {};             // its clients are served
  proto::BadExit bad_exit = proto::BadExit::waits;
  bool tells_progress = false;  // by Progress actions
  bool shows_output = true;     // Show actions are for the user's eyes, not for files or tools
  std::optional<RestartRules> restart = {};
  std::optional<proto::TreeShape> takes_over = {};  // instead of starting one
  std::size_t most_links = SIZE_MAX;                // to launchers that the root starts (LaunchConfig)
  bool could_drop = true;                           // ++on-host-failure drop would be possible
};

}  // namespace charmtree
