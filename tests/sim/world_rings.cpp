// SPDX-License-Identifier: Apache-2.0
// Native programs that go from ring to ring: each gets what its neighbours have given for the same one,
// whatever the tree was like when; or it fails, where somebody is lost.
#include <fmt/format.h>

#include "tests/sim/dice.hpp"
#include "tests/sim/world.hpp"
#include "tree/wire/native_message.hpp"

namespace charmtree::sim {

namespace native = wire::native;

namespace {
std::string given_by(std::uint32_t process, std::uint32_t round) {
  return fmt::format("{}:{}", process, round);
}
}  // namespace

void World::enters_ring(std::uint32_t number, Duration now) {
  const std::uint32_t round = processes_[number].round;
  says(number,
       native::to_frame(
           native::FenceEnter{round, native::FenceEnter::Gives::ring, {}, given_by(number, round)}),
       now);
}

void World::leaves_ring(std::uint32_t number, const native::RingOver* values, Duration now) {
  Process& process = processes_[number];
  if (process.state != Process::State::wired || !std::exchange(process.in_barrier, false))
    return checks_.wrong(fmt::format("process {} left a ring that it was not in", number));
  const std::uint32_t round = process.round++, all = job_processes();
  bool is_anybody_lost = false;
  for (std::uint32_t other = 0; other < all; ++other) {
    const Process& each = processes_[other];
    is_anybody_lost = is_anybody_lost || each.is_lost || each.may_be_lost || is_let_go(other);
    const bool has_entered = each.round > round || (each.round == round && each.in_barrier);
    if (values != nullptr && !has_entered)
      checks_.wrong(fmt::format("ring {} was over before process {} had entered", round, other));
  }
  if (values == nullptr && !is_anybody_lost)
    checks_.wrong(fmt::format("ring {} failed, and nobody is lost", round));
  if (values != nullptr && (values->left != given_by((number + all - 1) % all, round) ||
                            values->right != given_by((number + 1) % all, round)))
    checks_.wrong(
        fmt::format("process {} got {} and {} of ring {}", number, values->left, values->right, round));
  next_round(number, now);
}

}  // namespace charmtree::sim
