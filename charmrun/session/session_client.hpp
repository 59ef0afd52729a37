// SPDX-License-Identifier: Apache-2.0
// `charmrun ++in`: the user's side of a session's run (DESIGN D23). It makes the run from the
// user's directory, environment and options, and is its console from then on: what is printed is written
// here, as any job's is, stdin is read when the run wants it, and signals are sent on.
#pragma once

#include <string>

#include "charmrun/cli/options.hpp"
#include "tree/base/result.hpp"
#include "tree/base/time.hpp"
#include "tree/turn/events.hpp"

namespace charmtree {

struct SessionRunEnd {
  proto::Finish result;
  int output_failure = 0;  // why stdout could not be written, an errno
};

/// Runs Options::program in the session with that id, to its end and until its output has been read. Errors
/// are what the user must put right, or that the session has ended.
Result<SessionRunEnd> run_in_session(const Options& options, const std::string& id, Instant started);

}  // namespace charmtree
