// SPDX-License-Identifier: Apache-2.0
// Native programs in which each process offers something in each round, or answers who asks for it, and asks
// another one for the same: it gets that, whatever the tree is like meanwhile; or hears that the other is
// lost, who is, or has ended without an answer.
#include <fmt/format.h>

#include "tests/sim/world.hpp"
#include "tree/wire/native_message.hpp"

namespace charmtree::sim {

namespace native = wire::native;

namespace {
constexpr std::string_view kRound = "round ";

std::string key_of(std::uint32_t round) {
  return std::string{kRound} + std::to_string(round);
}

std::string offered_by(std::uint32_t process, std::uint32_t round) {
  return fmt::format("{}:{}", process, round);
}
}  // namespace

void World::looks_up(std::uint32_t number, Duration now) {
  const std::uint32_t round = processes_[number].round;
  const std::string key = key_of(round);
  if (settings_.answers == 0)
    says(number, native::to_frame(native::Offer{key, offered_by(number, round)}), now);
  else if (round == 0)  // others wait for it already
    says(number, native::to_frame(native::Listen{std::string{kRound}}), now);
  says(number, native::to_frame(native::Ask{round, asked_by(number, round), key}), now);
}

/// Answers, also while the process finalizes. It may be asked once more, since an answer may be lost with a
/// launcher.
void World::is_asked(std::uint32_t number, const native::Asked& asked, Duration now) {
  const Process::State state = processes_[number].state;
  if (state != Process::State::wired && state != Process::State::ended) return;  // it is gone meanwhile
  const Process& asker = processes_[asked.process];
  std::uint32_t round = 0;
  while (round < asker.round && asked.key != key_of(round)) ++round;
  if (asked.key != key_of(round) || asked_by(asked.process, round) != number)
    return checks_.wrong(
        fmt::format("process {} is asked for `{}` by process {}", number, asked.key, asked.process));
  says(number, native::to_frame(native::Answer{asked.process, asked.key, offered_by(number, round)}), now);
}

void World::is_told(std::uint32_t number, const native::Told& told, Duration now) {
  Process& process = processes_[number];
  if (process.state != Process::State::wired || !std::exchange(process.in_barrier, false) ||
      told.id != process.round)
    return checks_.wrong(fmt::format("process {} was told what it had not asked", number));
  const std::uint32_t round = process.round++, asked = asked_by(number, round);
  const Process& other = processes_[asked];
  const bool has_offered = settings_.answers != 0 || other.round > round ||
                           (other.round == round && other.in_barrier) || asked == number;
  const bool is_lost = other.is_lost || other.may_be_lost || is_let_go(asked) ||
                       (settings_.answers != 0 && other.state != Process::State::wired);
  if (told.failure.empty() && (told.value != offered_by(asked, round) || !has_offered))
    checks_.wrong(
        fmt::format("process {} got {} of process {} in round {}", number, told.value, asked, round));
  if (!told.failure.empty() && !is_lost)
    checks_.wrong(fmt::format("process {} was told of {}, which lives: {}", number, asked, told.failure));
  next_round(number, now);
}

}  // namespace charmtree::sim
