// SPDX-License-Identifier: Apache-2.0
// Processes that go on on another host than before, because theirs is lost (DESIGN D24): who is told, and
// what everybody who hears of it changes.
//
// Those of a host go on together on one that has no processes (a spare, whose launcher is there from the
// start, so that no login is needed), else each on the host with the fewest. A launcher that tells of a loss
// may not have heard yet of all that had been moved there, so it names hosts (LinkLost), and the root their
// processes. From the loss until a process is back no barrier opens. Entries of barriers are void only with
// the Renewed that follows when it has registered. On its new host it is a process that has joined: ranks,
// bindings and the table's blocks of the others stay as they are. A child may speak for what is below it now;
// of output, which waits for credit, also for what has been there before. Input follows the process; what the
// old life was given is not given again. Output is not numbered in such a job: what a dead host had not sent
// is lost with it, and nothing of anybody else passes through a lost launcher, since all below it start
// again. What cannot go on so is started again as a whole: before the first table, when the program is
// leaving, and when no launcher is left.
#include "charmrun/node/node.hpp"

namespace charmtree {

using namespace proto;

/// Nothing of the job is left on the host of a launcher that was lost.
void Node::tell_fenced(std::uint32_t host) {
  if (job_->loss.recovery == wire::Recovery::in_place && ending_ == Ending::no) tell_up(wire::Fenced{host});
}

/// Of a Moved; others move nobody. Whoever has a process from now on hears that before the order to start it.
void Node::note_moves(const wire::Message& message) {
  const auto* moved = std::get_if<wire::Moved>(&message);
  if (moved == nullptr) return;
  for (const wire::Share& share : moved->shares) {
    launch_->subtree().moved(share);
    if (processes_ && share.host == self_.index) processes_->join(share);
  }
}

}  // namespace charmtree
