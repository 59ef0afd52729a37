// SPDX-License-Identifier: Apache-2.0
// Orders about processes that were lost, on their way down the tree: they are started anew, or the others go
// on without them.
#include "charmrun/node/node.hpp"

namespace charmtree {

using namespace proto;

/// Of a Recover, a Renewed or a Lost; others begin none.
void Node::begin_epoch(const wire::Message& message) {
  const auto* recover = std::get_if<wire::Recover>(&message);
  const auto* lost = std::get_if<wire::Lost>(&message);
  const auto* renewed = std::get_if<wire::Renewed>(&message);
  if (recover == nullptr && lost == nullptr && renewed == nullptr) return;
  progress_.epoch = recover != nullptr ? wire::epoch_of(*recover->table)
                    : lost != nullptr  ? lost->epoch
                                       : renewed->epoch;
  gather_.begin_epoch(progress_.epoch);
  for (const auto& [link, child] : launch_->children())
    launch_->find(link)->crash_acks = launch_->find(link)->queue_pairs = 0;
  if (renewed != nullptr) return;
  if (lost != nullptr) return count_out(lost->processes);
  if (!processes_) return;
  progress_.survivors = self_.processes + launch_->subtree().processes();
  for (const std::uint32_t process : recover->joining) {
    if (processes_->contains(process) || launch_->subtree().route(process)) --progress_.survivors;
  }
}

}  // namespace charmtree
