// SPDX-License-Identifier: Apache-2.0
// Queue pairs of verbs clients find their way through the tree: up until a launcher has the host that they
// are for below it, then down to that host. No launcher but that one keeps them.
#include "charmrun/node/node.hpp"

namespace charmtree {

using namespace proto;

void Node::queue_pairs(const wire::QueuePairs& block) {
  if (processes_ && processes_->contains(block.first_target)) {
    Upward upward;
    processes_->queue_pairs(block, now_, *out_, upward);
    up(std::move(upward));
  } else if (launch_ && launch_->subtree().route(block.first_target)) {
    down_to(block.first_target, wire::QueuePairsDown{block});
  } else if (!desk_ && !parent_gone_) {
    out_->push_back(Send{kParentLink, wire::QueuePairsUp{block}});
  }
}

/// A child speaks for the processes of its hosts alone, and each of them gives every other one pair.
bool Node::allowed(LinkId link, const wire::QueuePairs& block) const {
  if (!block.well_formed() || block.sources == 0 || block.targets == 0 || block.sources > job_->processes)
    return false;
  const std::uint64_t most = std::uint64_t{launch_->subtree().most_processes_of(link)} * job_->processes;
  const std::uint64_t given = launch_->children().at(link).queue_pairs;
  if (given + std::uint64_t{block.sources} * block.targets > most) return false;
  for (std::uint32_t i = 0; i < block.sources; ++i) {
    if (!launch_->subtree().owns_process(link, block.first_source + i)) return false;
  }
  return true;
}

}  // namespace charmtree
