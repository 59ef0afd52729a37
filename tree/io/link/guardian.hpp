// SPDX-License-Identifier: Apache-2.0
// The process that outlives a launcher. A launcher that is killed cannot clean up; PDEATHSIG takes the
// programs that it started itself, and a later sweep finds what carries the job's mark, but nothing would
// find a daemon that has left its parent, session and environment behind. So each launcher is the child of a
// process that does nothing but wait: as a subreaper it then inherits all of them. A launcher that is stopped
// when its link ends does not see that; its guardian does.
//
// It is forked before anything is set up (0.3 ms, a few pages). It holds the input of the launcher's link, of
// which it reads nothing, and kills a launcher that has been stopped at each of six looks, a second apart,
// since that has ended; as long as the link lives it sleeps. What was stopped after an adoption is left to
// the parent, since the link that the guardian knows is not the launcher's any more; so is a launcher over
// ++mpiexec. Launchers of other virtual hosts of the machine live on where somebody may adopt them.
#pragma once

#include <optional>
#include <string>

namespace charmtree::io {

/// What this process has been started with as its stdin.
enum class Stdin { link, other };

/// Splits this process in two; call it before anything else is set up. The child, which gets nothing, goes on
/// as the launcher; it is sent SIGTERM should its guardian die. The parent waits for the launcher's end,
/// kills all that it left, and returns the status to exit with, or dies of the signal that ended the
/// launcher. It keeps none of the launcher's descriptors but the input of its link, until that has ended, or
/// the launcher: it reads nothing, but kills a launcher that has been stopped for 5 s since the link's end.
/// Without a second process (the user's limit), the launcher goes on alone.
std::optional<int> stand_guard(Stdin input);

/// The launcher names the socket file that is to be removed after its end, however that comes. No effect
/// without a guardian.
void leave_to_guardian(const std::string& socket);

/// The launchers of other hosts that this one has started on this machine (++local) outlive it, as those on
/// real hosts do: somebody may adopt them. They clean up by themselves where nobody does.
void spare_launchers();

/// The launcher's link is no longer that which it was started with: the guardian takes no notice of that
/// one's end.
void replace_guarded_link();

}  // namespace charmtree::io
