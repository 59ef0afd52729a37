// SPDX-License-Identifier: Apache-2.0
// ++replace-charm4py: charm4py brings a charmrun of its own, which its Python code starts by its place. There
// a link to us takes its place, and it is kept beside.
#pragma once

#include "charmrun/cli/options.hpp"

namespace charmtree {

/// Mode::replace_charm4py and Mode::restore_charm4py; Options::program is the environment, if it is named:
/// else that of which our own file is a command. The status to exit with.
int change_charm4py(const Options& options);

}  // namespace charmtree
