// SPDX-License-Identifier: Apache-2.0
// A run of a session (DESIGN D23), put together from what its user has described and the tree that there is.
#pragma once

#include <string>

#include "charmrun/session/session_message.hpp"
#include "tree/base/result.hpp"
#include "tree/node/root_plan.hpp"

namespace charmtree {

/// What the root is told of a run whose job and hosts the user's own charmrun has described. That the
/// profiles of hosts follow those of the session is for the builder of both to see to (job.hpp).
session::Run describe_run(const RootPlan& plan);

/// The job that runs it: arguments, directory, program and environment, numbers, times, input and the form of
/// the output are the run's; identity, secret, hosts and how they are logged in to and watched are the
/// session's. Error bad_input: the run is not for these hosts, or too large.
Result<proto::RunPlan> plan_run(const RootPlan& session, const session::Run& run);

}  // namespace charmtree
