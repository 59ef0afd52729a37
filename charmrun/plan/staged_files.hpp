// SPDX-License-Identifier: Apache-2.0
// Which files hosts get with the job: ++stage-program, ++stage.
#pragma once

#include <string>
#include <vector>

#include "charmrun/cli/options.hpp"
#include "charmrun/plan/program_file.hpp"
#include "tree/base/result.hpp"
#include "tree/wire/staging.hpp"

namespace charmtree {

/// `programs`: of the job, in their order. Reads all of these files. Error bad_input: one that is not there
/// or cannot be read, two of the same name, or too many.
Result<wire::StagedFiles> staged_files(const Options& options, const std::vector<ProgramFile>& programs,
                                       const std::string& directory);

}  // namespace charmtree
