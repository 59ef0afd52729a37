// SPDX-License-Identifier: Apache-2.0
// The process that outlives a launcher. A launcher that is killed cannot clean up; PDEATHSIG takes the
// programs that it started itself, and a later sweep finds what carries the job's mark, but nothing would
// find a daemon that has left its parent, session and environment behind. So each launcher is the child of a
// process that does nothing but wait: as a subreaper it then inherits all of them.
#pragma once

#include <optional>

namespace charmtree::io {

/// Splits this process in two; call it before anything else is set up. The child, which gets nothing, goes on
/// as the launcher; it is sent SIGTERM should its guardian die. The parent keeps no descriptor of the
/// launcher's and returns when it has ended, with the status to exit with; if a signal ended the launcher,
/// all that it left is killed first and then this process dies of the same signal. Without a second process
/// (the user's limit), the launcher goes on alone.
std::optional<int> stand_guard();

}  // namespace charmtree::io
