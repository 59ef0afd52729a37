// SPDX-License-Identifier: Apache-2.0
// Orders about processes that were lost, on their way down the tree: they are started anew, or the others go
// on without them.
#include "charmrun/node/node.hpp"

namespace charmtree {

using namespace proto;

/// False: it is about something else.
bool Node::about_crash(const wire::Message& message, Upward& upward) {
  if (const auto* restart = std::get_if<wire::Restart>(&message)) {
    if (processes_->contains(restart->process))
      processes_->restart(*restart, now_, *out_, upward);
    else
      down_to(restart->process, message);
  } else if (const auto* recover = std::get_if<wire::Recover>(&message)) {
    down_all(message);
    begin_epoch(message);
    processes_->recover(*recover, now_, *out_, upward);
  } else if (const auto* lost = std::get_if<wire::Lost>(&message)) {
    down_all(message);
    begin_epoch(message);
    processes_->lost(*lost, now_, *out_, upward);
  } else if (const auto* renewed = std::get_if<wire::Renewed>(&message)) {
    down_all(message);
    begin_epoch(message);
    processes_->renewed(*renewed, now_, *out_, upward);
  } else if (std::holds_alternative<wire::Moved>(message)) {
    down_all(message);
    note_moves(message);
  } else if (const auto* readmit = std::get_if<wire::Readmit>(&message)) {
    if (processes_->contains(readmit->process))
      processes_->readmit(*readmit, now_, *out_, upward);
    else
      down_to(readmit->process, message);
  } else if (const auto* admit = std::get_if<wire::Admit>(&message)) {
    if (processes_->contains(admit->process))
      processes_->admit(admit->process, now_, *out_, upward);
    else
      down_to(admit->process, message);
  } else {
    return false;
  }
  return true;
}

/// Of a Recover, a Renewed or a Lost; others begin none.
void Node::begin_epoch(const wire::Message& message) {
  const auto* recover = std::get_if<wire::Recover>(&message);
  const auto* lost = std::get_if<wire::Lost>(&message);
  const auto* renewed = std::get_if<wire::Renewed>(&message);
  if (recover == nullptr && lost == nullptr && renewed == nullptr) return;
  epoch_ = recover != nullptr ? wire::epoch_of(*recover->table)
           : lost != nullptr  ? lost->epoch
                              : renewed->epoch;
  gather_.begin_epoch(epoch_);
  for (const auto& [link, child] : launch_->children())
    launch_->find(link)->crash_acks = launch_->find(link)->queue_pairs = 0;
  if (renewed != nullptr) return;
  if (lost != nullptr) return count_out(lost->processes);
  if (!processes_) return;
  survivors_ = self_.processes + launch_->subtree().processes();
  for (const std::uint32_t process : recover->joining) {
    if (processes_->contains(process) || launch_->subtree().route(process)) --survivors_;
  }
}

}  // namespace charmtree
