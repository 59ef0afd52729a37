// SPDX-License-Identifier: Apache-2.0
// `charmrun ++view`: shows the output of a running job here, too, and what its charmrun says.
#pragma once

#include <string>

#include "charmrun/cli/options.hpp"
#include "tree/base/result.hpp"

namespace charmtree::control {

struct ViewEnd {
  int status = 0;          // the job's
  int output_failure = 0;  // why stdout could not be written, an errno
};

/// Until the job ends, or nobody reads any more. `job` is its id; of these `processes` ("0-3,7"; empty: all).
/// Error refused, link_lost, bad_peer, bad_input.
Result<ViewEnd> run_view(const std::string& job, const std::string& processes, const Options& options);

}  // namespace charmtree::control
