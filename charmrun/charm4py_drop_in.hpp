// SPDX-License-Identifier: Apache-2.0
// ++replace-charm4py: charm4py brings a charmrun of its own, which its Python code starts by its place. There
// a link to us takes its place, and it is kept beside.
#pragma once

#include <filesystem>
#include <string>

#include "charmrun/cli/options.hpp"
#include "tree/base/result.hpp"

namespace charmtree {

/// The charmrun of the charm4py that is installed in this Python environment (a folder with lib/python3.N).
/// Error bad_input (phase options): there is none.
Result<std::filesystem::path> charm4py_launcher(const std::filesystem::path& environment);

/// Mode::replace_charm4py and Mode::restore_charm4py; Options::program is the environment, if it is named:
/// else that of which our own file is a command. The status to exit with.
int change_charm4py(const Options& options);

}  // namespace charmtree
