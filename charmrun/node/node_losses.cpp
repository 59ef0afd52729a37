// SPDX-License-Identifier: Apache-2.0
// A launcher below is lost, while the job runs: what is lost with it, and what had waited for it.
#include <algorithm>

#include "charmrun/node/node.hpp"

namespace charmtree {

using namespace proto;

/// Its processes, and now those of all launchers below it, are lost with it.
void Node::tell_loss(const Child& child, LinkId link, const Error& error) {
  const Subtree& subtree = launch_->subtree();
  wire::LinkLost lost{child.host.index, error, subtree.processes_below(link)};
  const bool are_signed = std::any_of(job_->profiles.begin(), job_->profiles.end(),
                                      [](const Profile& each) { return !each.forwarded_keys.empty(); });
  if (job_->loss.recovery == wire::Recovery::in_place || are_signed) lost.hosts = subtree.hosts_below(link);
  lost.unbounded = unbounded_.contains(child.host.index);
  tell_up(std::move(lost));
  leave(child, link);
}

/// Nothing is awaited from it any more.
void Node::leave(const Child& child, LinkId link) {
  output_->lost(link);
  ccs_.lost(child, link, *this);
  input_.lost(link, *this);
}

/// No process is lost with it.
void Node::lose_idle(const Child& child, LinkId link, const Error& error) {
  leave(child, link);
  if (!job_->session) return;
  out_->push_back(Say{Tone::info, child.host.name + ": " + to_string(error) +
                                      "; the next run starts a launcher there again"});
}

/// What has come from below before a loss is told before it.
void Node::hurry_facts() {
  if (desk_) return;
  gather_.hurry(now_);
  flush_gather();
}

/// Nobody here or below waits for them any more.
void Node::count_out(const std::vector<wire::ProcessSet::Range>& told) {
  std::vector<wire::ProcessSet::Range> processes;
  for (const wire::ProcessSet::Range& range : told) {
    for (const wire::ProcessSet::Range& fresh : progress_.lost.missing(range)) processes.push_back(fresh);
    progress_.lost.add(range);
  }
  testimony_.forget_lost(progress_.lost);
  if (processes_) progress_.gone += static_cast<std::uint32_t>(processes_->local().among(processes).size());
  for (const auto& [link, ranges] : launch_->subtree().split(processes)) {
    for (const auto& [first, last] : ranges) progress_.gone += last - first + 1;
  }
}

}  // namespace charmtree
