// SPDX-License-Identifier: Apache-2.0
// Jobs that cannot answer on this machine, for ++list and for errors: those of ++keep-alive whose charmrun is
// gone or on another machine, and those whose charmrun is suspended.
#pragma once

#include <vector>

#include "charmrun/control/status_service.hpp"
#include "charmrun/control/status_text.hpp"

namespace charmtree::control {

/// Returns the jobs of this user that are kept alive and have not answered, and all that are silent. Removes
/// the files of those that are forgotten.
std::vector<RootlessJob> rootless_jobs(const RunningJobs& running);

}  // namespace charmtree::control
