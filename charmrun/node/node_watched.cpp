// SPDX-License-Identifier: Apache-2.0
// What launchers tell of a job that somebody looks at: who has ended well, and who was started by whom.
#include <algorithm>

#include "charmrun/node/node.hpp"

namespace charmtree {

using namespace proto;

/// A launcher says of its children that it has started them when they say that they are up.
wire::Facts Node::with_who_started(const Child& child, wire::Facts facts) const {
  const std::uint32_t host = child.host.index;
  if (job_->names_who_started() &&
      std::find(facts.hosts_up.begin(), facts.hosts_up.end(), host) != facts.hosts_up.end())
    facts.started_by.push_back({host, self_.index});
  return facts;
}

/// A child may say that of its own processes and hosts alone, and only where it is wanted.
bool Node::watching_allowed(LinkId link, const wire::Facts& facts) const {
  const Subtree& subtree = launch_->subtree();
  const auto ended = [&](const wire::ProcessSet::Range& range) {
    return subtree.owns_processes(link, range);
  };
  const auto started = [&](const wire::StartedBy& each) {
    return subtree.owns(link, each.host) && subtree.owns(link, each.by);
  };
  if (!job_->names_who_started() && !facts.started_by.empty()) return false;
  if (!job_->names_who_ended() && !facts.who_ended.empty()) return false;
  return std::all_of(facts.who_ended.begin(), facts.who_ended.end(), ended) &&
         std::all_of(facts.started_by.begin(), facts.started_by.end(), started);
}

}  // namespace charmtree
