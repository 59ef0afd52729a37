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
    tell_up(std::move(upward));
  } else if (launch_ && launch_->subtree().route(block.first_target)) {
    hand_down(block.first_target, wire::QueuePairsDown{block});
  } else if (!desk_ && !parent_gone_) {
    out_->push_back(Send{kParentLink, wire::QueuePairsUp{block}});
  }
}

}  // namespace charmtree
