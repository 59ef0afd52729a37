// SPDX-License-Identifier: Apache-2.0
// The parts of a launcher that belong to the present run of the program. When it is started again, the next
// run begins with fresh ones.
#pragma once

#include "ccs/ccs_part.hpp"
#include "tree/job/clean_up.hpp"
#include "tree/job/gather_part.hpp"
#include "tree/job/host_part.hpp"
#include "tree/job/shutdown.hpp"
#include "tree/node/services.hpp"

namespace charmtree {

struct RunParts {
  /// Both must outlive the object.
  RunParts(proto::Place& place, proto::StartupTimes& times) : host(place, times), gather(times) {}

  proto::HostPart host;
  proto::GatherPart gather;
  node::LauncherComponents<node::Services> services;
  proto::CcsPart ccs;
  proto::Shutdown shutdown;
  proto::CleanUp clean_up;
};

}  // namespace charmtree
