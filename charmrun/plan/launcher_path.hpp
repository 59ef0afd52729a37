// SPDX-License-Identifier: Apache-2.0
// Where charmrun stands: the folder that it was started in, and its own file, by the names that other hosts
// know.
#pragma once

#include <string>

#include "charmrun/cli/options.hpp"

namespace charmtree {

std::string own_directory();

/// The launcher of this machine, by the path that other hosts use as well; `self` is argv[0].
std::string launcher_path(const Options& options, const std::string& self);

/// Two lines: its linker's name for this build, if there is one, and the libraries inside.
std::string build_text();

}  // namespace charmtree
