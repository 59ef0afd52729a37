// SPDX-License-Identifier: Apache-2.0
// charmrun under the name mpiexec or mpirun: the words of MPICH's mpiexec (Hydra), Intel's and Open MPI's
// mpirun, said in charmrun's. The one table of them is here, from which `mpiexec --help` is made. charmrun's
// own options (++verbose) may stand among them. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "charmrun/cli/options.hpp"
#include "tree/base/result.hpp"

namespace charmtree::mpiexec {

/// `name`: argv[0].
bool is_mpiexec(std::string_view name);

/// What a command line says.
struct Line {
  std::vector<std::string> options;      // charmrun's, for the job
  std::vector<FurtherCommand> programs;  // at least one, but for help and version
  std::vector<std::string> remarks;      // settings that were taken, and those that have no effect
  bool help = false, version = false;
};

/// What is in a file; error: why that cannot be read.
using ReadFile = std::function<Result<std::string>(const std::string& path)>;

/// Reads `argv`, which begins with our own name, and the settings of other launchers in `environment`
/// ("NAME=value"); the command line wins. Errors are bad_input, Phase::options, and name the word.
Result<Line> read_line(std::span<const std::string> argv, const std::vector<std::string>& environment,
                       const ReadFile& read_file);

std::string help_text();
/// Tools look in it for the name of a launcher of MPI that they know.
std::string version_text();

}  // namespace charmtree::mpiexec
