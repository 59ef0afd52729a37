// SPDX-License-Identifier: Apache-2.0
// The root of a job that is kept alive is lost, and another one takes over, with what the last has kept of
// the tree. Nobody else is lost for that, each line is shown, and barriers go on where they were.
#include <fmt/core.h>

#include "tests/sim/dice.hpp"
#include "tests/sim/world.hpp"

namespace charmtree::sim {

using namespace proto;

namespace {

constexpr Duration kSoon = 200ms, kAtOnce = 300us;
constexpr std::uint64_t kOneInSo = 4;  // falls silent, where that is noticed

}  // namespace

/// Of those to which the next root logs in at once.
void World::unplug_some() {
  if (settings_.unplugged == 0) return;
  for (const wire::StartedBy& told : kept_->shape.started_by) {
    if (told.by == wire::kRootIndex) hosts_[told.host].is_unplugged = uniform(random_) < settings_.unplugged;
  }
}

/// Not before all is up, nor before the next one is there. Half of them while they tell everybody something.
void World::lose_root(Duration now) {
  if (outcome_.status >= 0 || is_root_gone_) return;
  if (is_root_awaited_ || is_doomed_ || !is_running())
    return put_fault(now + random_.between(1ms, kSoon), Fault::root_lost);
  is_doomed_ = random_.below(2) == 0;
  if (!is_doomed_) put(now, Call{[this](Duration at) { root_dies(at); }});
}

void World::may_be_last(const wire::Message& message, Duration now) {
  const bool is_told_to_all =
      holds_alternative<wire::Release>(message) || holds_alternative<wire::Lost>(message) ||
      holds_alternative<wire::OutputTaken>(message) || holds_alternative<wire::Claim>(message);
  if (is_told_to_all && std::exchange(is_doomed_, false))
    put(now + random_.between(0ms, kAtOnce), Call{[this](Duration at) { root_dies(at); }});
}

/// Of what it had sent some is lost, so that its children have not heard the same.
void World::root_dies(Duration now) {
  if (!launchers_[root_].node) return;
  if (settings_.log != 0) fmt::print("{:12.6f}    root ** lost\n", seconds(now));
  const Launcher& root = launchers_[root_];
  lost_at_its_end_ = lost_at_its_end_ || root.node->ending();
  roots_lost_[root_] = now;
  is_root_awaited_ = true;
  open_prompts_.clear();
  told_of_.clear();
  const bool silently = settings_.heartbeat > 0 && random_.below(kOneInSo) == 0;
  for (const auto& [link, slot] : root.children) {
    if (slot.wire == kNobody) continue;
    wires_[slot.wire].is_dead = silently;
    if (!silently) put(now + network_.delay(), HangUp{slot.wire, false, "connection reset"});
  }
  leave(root_, now);
  unwritten_ = 0;
  screen_free_at_ = now;
  put(now + random_.between(0ms, ms(settings_.away)), Call{[this](Duration at) { take_over(at); }});
}

}  // namespace charmtree::sim
