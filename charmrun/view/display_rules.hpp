// SPDX-License-Identifier: Apache-2.0
// How the user wants output to be shown, and where it goes, as Display's rules.
#pragma once

#include "charmrun/cli/options.hpp"
#include "charmrun/view/display.hpp"

namespace charmtree {

/// Where the output goes (stdout and stderr) decides how it is shown, if the user does not.
DisplayRules display_rules(const Options& options);

}  // namespace charmtree
