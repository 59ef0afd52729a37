// SPDX-License-Identifier: Apache-2.0
// The launcher as its parts see it (proto::Turn).
#include "charmrun/node/node.hpp"
#include "tree/base/overloaded.hpp"

namespace charmtree {

using namespace proto;

Seat Node::seat() {
  return {*job_,
          self_,
          *launch_,
          processes_ ? &*processes_ : nullptr,
          progress_,
          level_,
          desk_ ? &desk_->hosts() : nullptr};
}

wire::Remit Node::remit(LinkId link) const {
  if (!launch_ || link == kParentLink || link == kAdopterLink) return {};
  return Trust::remit(*launch_, *job_, link, repairs_.is_claimed(link));
}

WayUp Node::way_up() const {
  if (!parent_gone_) return WayUp::open;
  return hold_until_ == kNever ? WayUp::gone : WayUp::awaited;
}

void Node::hand_up(wire::Message message) {
  if (!desk_) return out_->push_back(Send{kParentLink, std::move(message)});
  if (auto* lines = std::get_if<wire::Output>(&message)) return desk_->output(std::move(*lines), *out_);
  DeskOrders orders;
  desk_->message(message, now_, *out_, orders);
  pass_on(orders);
}

void Node::hand_down_by(LinkId child, wire::Message message) {
  if (launch_->find_up(child) != nullptr) out_->push_back(Send{child, std::move(message)});
}

bool Node::is_here(std::uint32_t process) const {
  return processes_ && processes_->contains(process);
}

std::optional<LinkId> Node::way_to(std::uint32_t process) const {
  return launch_->subtree().route(process);
}

void Node::tell(const News& news) {
  const Overloaded hear{
      [&](PipesRest pipes) {
        if (processes_) processes_->hold_output(pipes.yes, *out_);
      },
      [&](OutputStalls output) { desk_->stalled(output.yes, now_); },
      [&](const LinkSilent& silent) { lose_silent(silent); },
      [&](const LauncherLost& m) { lost(m.lost); },
      [&](const LauncherUnreached& m) { unreached(m.what); },
      [&](const LauncherClaimed& m) {
        if (end_) out_->push_back(Send{m.link, *end_});
      },
      [&](const LauncherFound& m) { found(m); },
      [&](const GivenUp&) { given_up(); },
  };
  std::visit(hear, news);
}

}  // namespace charmtree
