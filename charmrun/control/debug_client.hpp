// SPDX-License-Identifier: Apache-2.0
// `charmrun ++gdb`: the prompt at a terminal, or fed by a script, and the root of the job that it is about.
#pragma once

#include <string>

#include "charmrun/cli/options.hpp"
#include "tree/base/result.hpp"

namespace charmtree::control {

/// Until the user leaves or the job ends: a line that says why, if it was not the user. `processes`: those to
/// be taken hold of, "0-3,7", or empty for all. Errors are what the user must put right.
Result<std::string> run_gdb(const std::string& job, const std::string& processes,
                            const Options::Debug& options);

}  // namespace charmtree::control
