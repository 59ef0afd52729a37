// SPDX-License-Identifier: Apache-2.0
// What becomes of a link whose other end has been silent for too long (health/watch).
#include "charmrun/node/node.hpp"

namespace charmtree {

using namespace proto;

void Node::lose_silent(const LinkSilent& silent) {
  if (silent.link == kParentLink) {
    out_->push_back(CloseLink{kParentLink});
    return lose_parent(nullptr);
  }
  const Child& child = launch_->children().at(silent.link);
  const std::uint32_t host = child.host.index;
  if (!silent.is_cut_off) may_outlive_us(child);
  give_up(silent.link, silent.why);
  if (!silent.answers) repairs_.presume_gone(host, *this);
}

}  // namespace charmtree
