// SPDX-License-Identifier: Apache-2.0
#include "charmrun/cli/connecting_starter.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace charmtree {

namespace {

// Torque's pbsdsh numbers the slots; OpenPBS's tells each task some number of its own, in hexadecimal digits
// (pbs_mom's start_exec.c).
constexpr std::string_view kRankOfPbs =
    "PMI_RANK=${PBS_VNODENUM:-$((0x$PBS_TASKNUM))} && export PMI_RANK || exit\n";

constexpr std::array<std::pair<StartedBy, ConnectingStarter>, 3> kStarters = {{
    {StartedBy::flux, {"flux", "++transport flux", "flux run", true, ""}},
    {StartedBy::pbsdsh, {"pbsdsh", "++transport pbsdsh", "pbsdsh --", false, kRankOfPbs}},
    {StartedBy::mpiexec, {"mpiexec", "++mpiexec", "mpiexec", true, ""}},
}};

}  // namespace

const ConnectingStarter* find_connecting_starter(StartedBy transport) {
  const auto* found = std::find_if(kStarters.begin(), kStarters.end(),
                                   [&](const auto& row) { return row.first == transport; });
  return found == kStarters.end() ? nullptr : &found->second;
}

}  // namespace charmtree
