// SPDX-License-Identifier: Apache-2.0
// The command line as the shell gave it, under whatever name charmrun was called, with what the environment
// says. Under the name mpiexec it also reads the file of hosts.
#pragma once

#include <string>
#include <vector>

#include "charmrun/cli/options.hpp"
#include "tree/base/result.hpp"

namespace charmtree {

struct CommandLine {
  Options options;
  std::string text = {};                  // what ++help or ++version shows under this name
  std::vector<std::string> remarks = {};  // one line each, shown unless ++quiet
};

/// Errors are bad_input, and name the word, or the line of a file.
Result<CommandLine> read_command_line(const std::vector<std::string>& argv);

}  // namespace charmtree
