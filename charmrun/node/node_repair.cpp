// SPDX-License-Identifier: Apache-2.0
// What becomes of what was found by the part that repairs the tree (health/repairs).
#include "charmrun/node/node.hpp"

namespace charmtree {

using namespace proto;

/// A root that takes over says it when it has heard everybody.
void Node::lost(wire::LinkLost lost) {
  takeover_ ? takeover_->lost.push_back(std::move(lost)) : tell_up(std::move(lost));
}

void Node::unreached(const std::string& what) {
  if (takeover_ && takeover_->unreached.empty()) takeover_->unreached = what;
}

void Node::found(const LauncherFound& found) {
  watch_.watch(found.link, *this);
  facts({.started_by = {{found.host, self_.index}}});
  hurry_facts();
  if (takeover_)
    takeover_->heirs.emplace(found.link, found.heir);
  else
    tell_up(wire::Reached{found.host, launch_->subtree().processes_below(found.link)});
}

/// With us our processes are taken for dead. Whoever else is left below may be adopted, too.
void Node::given_up() {
  parent_gone_ = desk_ == nullptr;
  if (desk_)
    desk_->refuse({Errc::link_lost, Phase::run, "another root has taken over the job (++attach)", {}});
  watch_.forget(kParentLink);
  launch_->abandon(*out_);
  repairs_.stop();
  end({wire::EndMode::kill, 9});
}

}  // namespace charmtree
