// SPDX-License-Identifier: Apache-2.0
// What a user would say for a simulated job, and with what program: the rules of the command itself decide
// whether there can be such a job, and what it is.
#pragma once

#include "charmrun/cli/options.hpp"
#include "charmrun/plan/program_rules.hpp"
#include "tests/sim/settings.hpp"
#include "tree/base/result.hpp"

namespace charmtree::sim {

/// As charmrun reads them. Error: charmrun refuses them, or there is no such program.
Result<Options> options_of(const Settings& settings);

/// What charmrun finds in the program.
wire::ProgramTraits traits_of(const Settings& settings);

}  // namespace charmtree::sim
