// SPDX-License-Identifier: Apache-2.0
// The process that outlives a launcher. A launcher that is killed cannot clean up; PDEATHSIG takes the
// programs that it started itself, and a later sweep finds what carries the job's mark, but nothing would
// find a daemon that has left its parent, session and environment behind. So each launcher is the child of a
// process that does nothing but wait: as a subreaper it then inherits all of them.
#pragma once

#include <optional>
#include <string>

namespace charmtree::io {

/// Splits this process in two; call it before anything else is set up. The child, which gets nothing, goes on
/// as the launcher; it is sent SIGTERM should its guardian die. The parent keeps no descriptor of the
/// launcher's and waits for its end, kills all that it left, and returns the status to exit with, or dies of
/// the signal that ended the launcher. Without a second process (the user's limit), the launcher goes on
/// alone.
std::optional<int> stand_guard();

/// The launcher names the socket file that is to be removed after its end, however that comes. No effect
/// without a guardian.
void leave_to_guardian(const std::string& socket);

}  // namespace charmtree::io
