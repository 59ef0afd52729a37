// SPDX-License-Identifier: Apache-2.0
// The next run of a session (DESIGN D23): a program, and what is its own in the job that runs it. Everything
// that is the tree's has been put into `job` already.
#pragma once

#include <cstdint>
#include <vector>

#include "tree/base/time.hpp"
#include "tree/wire/job_spec.hpp"

namespace charmtree::proto {

/// What a plain process does to the job by exiting with another status than 0.
enum class BadExit : std::uint8_t {
  waits,  // the others go on, and the first such status is the job's in the end
  ends,   // ++kill-on-exit, ++on-failure abort: the job is over at once
};

struct RunPlan {
  wire::JobSpec job;
  std::vector<std::uint32_t> processes;  // for each host of the job; the first that live take these places
  Duration time_limit{0};                // 0: none
  bool int_ends = true;
  BadExit bad_exit = BadExit::waits;
  bool shows_output = true;  // as RootPlan's
};

}  // namespace charmtree::proto
