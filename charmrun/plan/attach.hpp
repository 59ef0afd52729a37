// SPDX-License-Identifier: Apache-2.0
// `charmrun ++attach`: from the file of a job that has lost its charmrun (charmrun/plan/tree_file.hpp) to a
// plan for the next one. Output is shown as the user of that job wanted it; other options are given again.
#pragma once

#include <string>
#include <vector>

#include "charmrun/cli/options.hpp"
#include "charmrun/plan/job.hpp"
#include "charmrun/plan/tree_file.hpp"
#include "tree/base/result.hpp"

namespace charmtree {

/// The folder of this user's files.
std::string tree_folder();

/// What is to be kept of a job that is about to start; `words`: its command line.
KeptTree kept_tree(const Options& options, const Job& job, const std::vector<std::string>& words);

struct Attachment {
  Options options;
  Job job;
  KeptTree tree;
};
/// Errors are what the user must put right: no such job, or another version of charmrun has launched it.
Result<Attachment> attach(const Options& options, const std::string& self);

}  // namespace charmtree
