// SPDX-License-Identifier: Apache-2.0
// Orders about processes that were lost and are started anew, on their way down the tree.
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
    begin_epoch(*recover);
    processes_->recover(*recover, now_, *out_, upward);
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

void Node::begin_epoch(const wire::Recover& message) {
  epoch_ = wire::epoch_of(*message.table);
  gather_.begin_epoch(epoch_);
  for (const auto& [link, child] : launch_->children()) launch_->find(link)->crash_acks = 0;
  if (!processes_) return;
  survivors_ = self_.processes + launch_->subtree().processes();
  for (const std::uint32_t process : message.joining) {
    if (processes_->contains(process) || launch_->subtree().route(process)) --survivors_;
  }
}

}  // namespace charmtree
