// SPDX-License-Identifier: Apache-2.0
// Numbers of processes, first or new ones, on their way down the tree. Where nothing starts before every host
// has answered, they are the word to start, too: until then a launcher has made its host ready, says that it
// is up, and has no processes.
#include "charmrun/node/node.hpp"

namespace charmtree {

using namespace proto;

/// The hosts that are left get their processes. Once: before, nobody here has any.
void Node::numbers(const wire::Numbers& message) {
  hand_down_all(message);
  auto shares = wire::decode_shares(*message.shares);
  if (!shares || ending_ != Ending::no) return;
  if (shares->empty() && job_->starts_together && !progress_.has_numbers) {
    begin_start();
    return start_processes();
  }
  if (shares->empty() || self_.processes > 0) return;
  job_->processes = shares->back().first_process + shares->back().processes;
  job_->pes_per_process = message.pes_per_process;
  number_subtree(*shares);
  for (const wire::Share& share : *shares) {
    if (share.host != self_.index) continue;
    self_.first_process = share.first_process;
    self_.processes = share.processes;
  }
  start_processes();
}

/// Who waits for the others has none yet.
void Node::make_processes() {
  Host self = self_;
  if (job_->starts_together) self.processes = 0;
  processes_.emplace(job_, self);
}

/// A host that could not be made ready has said so, and the job does not come so far.
void Node::start_processes() {
  if (self_.processes == 0 || processes_->failed()) return;
  ReadyHost ready = processes_->host();
  processes_.emplace(job_, self_);
  Upward upward;
  processes_->start(std::move(ready), upward);
  tell_up(std::move(upward));
}

/// All below have yet to answer again, for their processes.
void Node::begin_start() {
  progress_.has_numbers = true;
  launch_->subtree().await_start();
}

void Node::number_subtree(const std::vector<wire::Share>& shares) {
  progress_.has_numbers = true;
  for (const wire::Share& share : shares) launch_->subtree().give(share);
}

void Node::handle(const HostsRead& event) {
  if (desk_) desk_->hosts_read(event, now_);
}

void Node::reshape(const wire::Reshape& order, Upward& upward) {
  const auto shares = wire::decode_shares(*order.shares);
  if (!shares || shares->empty() || ending_ != Ending::no) return;
  job_->processes = shares->back().first_process + shares->back().processes;
  job_->arguments = order.arguments;
  reshape(order, *shares);
  wire::Share own{self_.index, 0, 0};
  for (const wire::Share& share : *shares) {
    if (share.host == self_.index) own = share;
  }
  self_.first_process = own.first_process;
  self_.processes = own.processes;
  processes_->reshape(own, now_, upward);
}

void Node::reshape(const wire::Reshape& message, const std::vector<wire::Share>& shares) {
  launch_->forget_processes();
  number_subtree(shares);
  hand_down_all(message);
}

}  // namespace charmtree
