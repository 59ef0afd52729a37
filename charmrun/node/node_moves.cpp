// SPDX-License-Identifier: Apache-2.0
// Processes that go on on another host than before, because theirs is lost (DESIGN D24): who is told, and
// what everybody who hears of it changes.
#include "charmrun/node/node.hpp"

namespace charmtree {

using namespace proto;

/// Nothing of the job is left on the host of a launcher that was lost.
void Node::tell_fenced(std::uint32_t host) {
  if (job_->restarts_in_place && ending_ == Ending::no) tell_up(wire::Fenced{host});
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
