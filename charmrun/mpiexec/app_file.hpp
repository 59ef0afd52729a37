// SPDX-License-Identifier: Apache-2.0
// The file of -configfile: a line for each program of the job. Pure.
#pragma once

#include <string>
#include <vector>

#include "tree/base/result.hpp"

namespace charmtree::mpiexec {

/// Returns the words of all lines of `text`, with a ":" between lines. Blank lines and those that begin with
/// '#' do not count. Errors are bad_input and name `file`.
Result<std::vector<std::string>> words_of_programs(const std::string& text, const std::string& file);

}  // namespace charmtree::mpiexec
