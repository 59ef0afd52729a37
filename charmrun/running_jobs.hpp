// SPDX-License-Identifier: Apache-2.0
// What a user wants of jobs that run already: ++list, ++status, ++stack-trees, ++gdb, ++exec, ++ccs,
// ++end, ++kill and others.
#pragma once

#include "charmrun/cli/options.hpp"

namespace charmtree {

/// By Options::mode, which is one of those. The status to exit with.
int ask_running_job(const Options& options);

}  // namespace charmtree
