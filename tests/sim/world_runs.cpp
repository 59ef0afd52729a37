// SPDX-License-Identifier: Apache-2.0
// Programs that are started again as a whole: a run begins when nothing lives of the one before, and all its
// processes are new.
#include <fmt/core.h>

#include <algorithm>

#include "tests/sim/world.hpp"

namespace charmtree::sim {

using namespace proto;

void World::begin_run(std::uint32_t run) {
  if (run <= run_) return;
  if (run != run_ + 1) checks_.wrong(fmt::format("run {} follows run {}", run, run_));
  run_ = run;
  for (std::uint32_t number = 0; number < processes_.size(); ++number) {
    Process& process = processes_[number];
    if (process.alive) checks_.wrong(fmt::format("process {} lives when run {} begins", number, run));
    begin_life(number, run);
    process.launcher = kNobody;
  }
  joined_ = wired_ = 0;
  checks_.begin_run();
  for (const Launcher& each : launchers_) {  // those that are about to leave are to be replaced
    if (each.host != wire::kRootIndex && each.node && each.is_welcomed && each.node->ending() &&
        !each.node->idle())
      checks_.retired(each.host);
  }
}

/// A launcher that has nothing left to do there and has lost its parent ends by itself.
void World::retire_idle(std::uint32_t host) {
  const auto& there = launchers_on_[host];
  const bool idle = std::any_of(there.begin(), there.end(), [&](std::uint32_t id) {
    return launchers_[id].node && launchers_[id].is_welcomed && launchers_[id].node->idle();
  });
  if (idle) checks_.retired(host);
}

/// What befalls the program now is followed by another run.
bool World::has_run() const {
  return run_ > 0 || launchers_[root_].node->status().stage != Stage::launch;
}

}  // namespace charmtree::sim
