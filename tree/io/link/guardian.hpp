// SPDX-License-Identifier: Apache-2.0
// The process that outlives a launcher. A launcher that is killed cannot clean up; PDEATHSIG takes the
// programs that it started itself, and a later sweep finds what carries the job's mark, but nothing would
// find a daemon that has left its parent, session and environment behind. So each launcher is the child of a
// process that does nothing but wait: as a subreaper it then inherits all of them.
//
// A launcher that is stopped, hangs or spins when its link ends does not end its host's processes; its
// guardian does. The guardian holds a copy of the descriptor whose hang-up is the end of the link, and reads
// nothing of it. The launcher counts signs of life in a page that both see: one for each event that it
// handles, and, once its link has ended, one each 500 ms. The guardian looks at the count once a second from
// the end of the link on, and kills a launcher of which five looks in a row have seen nothing new. As long as
// the link lives the guardian sleeps.
//
// The launcher passes each new link (after an adoption, or over ++mpiexec), and reports that it has closed
// one itself. So a launcher that is adopted in time is watched by its new link alone.
//
// The guardian is forked before anything is set up (0.3 ms, a few pages). Launchers of other virtual hosts of
// the machine live on where a launcher above may adopt them.
#pragma once

#include <optional>
#include <string>

namespace charmtree::io {

/// What this process has been started with as its stdin.
enum class Stdin { link, other };

/// Splits this process in two; call it before anything else is set up. Returns nothing in the child, which
/// continues as the launcher and is sent SIGTERM should its guardian die. The parent waits for the launcher's
/// end, kills all that it left, and returns the status to exit with, or dies of the signal that ended the
/// launcher. It keeps none of the launcher's descriptors but its link. Without a second process (the user's
/// limit) or memory, the launcher continues alone.
std::optional<int> stand_guard(Stdin input);

/// The launcher names the socket file that is to be removed after its end, however that comes. No effect
/// without a guardian.
void leave_to_guardian(const std::string& socket);

/// The launchers of other hosts that this one has started on this machine (++local) outlive it, as those on
/// real hosts do: somebody may adopt them. They clean up by themselves where nobody does.
void spare_launchers();

/// Shows the guardian that this launcher handles events. Cheap, and without effect in a process that has no
/// guardian, as the next two.
void show_sign_of_life();

/// Replaces the link that the guardian watches. The hang-up of `descriptor`, which the guardian gets a copy
/// of, is the end of the new one.
void guard_link(int descriptor);

/// Reports that this launcher has closed its link: the guardian closes its copy, and expects signs of life.
void end_guarded_link();

}  // namespace charmtree::io
