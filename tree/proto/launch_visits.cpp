// SPDX-License-Identifier: Apache-2.0
// Logins to hosts whose launcher was lost, for no process: to clean up there, or to find that one.
#include "tree/proto/launch.hpp"

namespace charmtree::proto {

/// Who is to say for what it comes.
Child& Launch::visit(const Host& host, Via via, Instant now) {
  const LinkId link = next_link_++;
  Child& visitor = children_[link];
  visitor.host = host;
  visitor.via = via;
  queue_.add(link, now);
  return visitor;
}

void Launch::sweep(LinkId lost, const std::set<std::uint32_t>& unconfirmed, Instant now, Actions& out) {
  const Child& child = children_.at(lost);
  const auto sweep = [&](const Host& host, Via via) {
    if (!child.idle || unconfirmed.contains(host.index)) visit(host, via, now).sweeper = true;
  };
  sweep(child.host, child.via);
  for (const auto& [index, host] : child.below) sweep(host, profile(host).usual_via());
  pump(now, out);
}

void Launch::adopt(const Host& host, Duration insistence, Instant now, Actions& out) {
  Child& visitor = visit(host, profile(host).usual_via(), now);
  visitor.adopter = true;
  visitor.insistence = insistence;
  pump(now, out);
}

void Launch::sweep_instead(const Host& host, Instant now, Actions& out) {
  for (auto& [link, child] : children_) {
    if (!child.adopter || !child.open() || child.host.index != host.index) continue;
    if (child.state() != Child::State::up) {
      child.adopter = false;
      child.sweeper = true;
      child.insistence = {};
      return;
    }
    child.lost();
    out.push_back(CloseLink{link});
  }
  visit(host, profile(host).usual_via(), now).sweeper = true;
  pump(now, out);
}

void Launch::abandon(Actions& out) {
  for (auto& [link, child] : children_) {
    if (!child.open()) continue;
    cancel(link, out);
    child.lost();
  }
}

void Launch::adopted(LinkId link, std::map<std::uint32_t, Host> below, Instant now) {
  Child& child = children_.at(link);
  child.adopter = false;
  child.welcomed = now;
  child.below = std::move(below);
  subtree_.move(child.host.index, link);
  subtree_.started({child.host.index, config_.self});
}

}  // namespace charmtree::proto
