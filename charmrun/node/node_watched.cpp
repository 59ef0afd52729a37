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

}  // namespace charmtree
