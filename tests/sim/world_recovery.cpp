// SPDX-License-Identifier: Apache-2.0
// A Charm++ program that restarts its processes. All of them go through the same barriers and end behind the
// last. One that was lost is started anew and goes on where the others are; how it gets its state back is
// not our concern. Every process is told of every crash once, in order: first the table, then who was lost.
#include <fmt/format.h>

#include <algorithm>

#include "health/crash_sequence.hpp"
#include "tests/sim/charm_words.hpp"
#include "tests/sim/dice.hpp"
#include "tests/sim/world.hpp"
#include "tree/wire/charm_message.hpp"
#include "tree/wire/native_message.hpp"

namespace charmtree::sim {

using namespace proto;

namespace {

constexpr Duration kSlowAck = 60ms;

}  // namespace

/// Lost ones are started one at a time, each with the next phase.
void World::starts_anew(const Spawn& action) {
  Process& process = processes_[action.process];
  if (process.state != Process::State::gone)
    checks_.wrong(fmt::format("process {} was started anew while it lived", action.process));
  const std::vector<std::string> expected = {"+restartaftercrash", fmt::format("{}", ++phase_),
                                             "+restartisomalloc"};
  if (action.more_arguments != expected)
    checks_.wrong(fmt::format("process {} was started anew with other arguments", action.process));
  begin_next_life(action.process, process.lives_before + 1);
}

/// Of the same run: it prints what the one before had not.
void World::begin_next_life(std::uint32_t number, std::uint32_t life) {
  Process before = processes_[number];
  begin_life(number, life);
  Process& process = processes_[number];
  process.printed = before.printed;
  process.shown = std::move(before.shown);
  process.screen = before.screen;
  process.next_on_it = before.next_on_it;
}

/// What is the same in all lives of a process.
void World::begin_life(std::uint32_t number, std::uint32_t life) {
  const Process before = std::exchange(processes_[number], Process{});
  Process& process = processes_[number];
  process.lives_before = life;
  process.stubborn = before.stubborn;
  process.launcher = before.launcher;
  process.losses = before.losses;
  process.before = std::max(before.before, before.entered);
}

void World::recovering_hears(std::uint32_t number, const ClientSend& message, Duration now) {
  Process& process = processes_[number];
  if (process.is_cut) return;
  const std::string_view type{message.bytes.c_str() + 4};
  if (type == "initnodetab") {
    recovering_table(number, message, now);
  } else if (type == "crashnode") {
    hears_of_crash(number, message, now);
  } else if (type == "barrier") {
    passes_barrier(number, now);
  } else if (type == "die") {
    put(now + random_.between(0ms, 1ms), Dies{number, 0, 0, process.lives_before});
  } else {
    checks_.wrong(fmt::format("process {} was sent `{}`", number, type));
  }
}

void World::recovering_table(std::uint32_t number, const ClientSend& message, Duration now) {
  Process& process = processes_[number];
  const std::string_view entries = *message.tail;
  if (word(message.bytes, 20) != number || entries.size() != wire::kCharmTableEntry * job_processes())
    return checks_.wrong(fmt::format("process {} got a table that is not its own", number));
  if (word(entries, wire::kCharmTableEntry * number + 12) != port_of(number, process.lives_before))
    checks_.wrong(fmt::format("process {} is not in its table with its port", number));
  if (process.state == Process::State::wired) {
    if (std::exchange(process.owes_crashnode, true))
      checks_.wrong(fmt::format("process {} got a table without hearing of a crash", number));
    return;
  }
  if (process.state != Process::State::joined)
    return checks_.wrong(fmt::format("process {} got a table that it does not expect", number));
  process.state = Process::State::wired;
  process.epoch = seen(process.launcher).epoch;
  outcome_.wired = now;
  if (process.lives_before == 0) ++wired_;
  for (std::uint32_t other = 0; other < job_processes(); ++other) {
    const Process& each = processes_[other];
    if (each.state == Process::State::wired || each.is_done)
      process.round = std::max(process.round, each.round);
    if (process.lives_before > 0 && each.state == Process::State::wired &&
        word(entries, wire::kCharmTableEntry * other + 12) != port_of(other, each.lives_before))
      checks_.wrong(fmt::format("process {} got a table with an old port of process {}", number, other));
  }
  begins_work(number, now);
}

/// The table is there: it prints what it has to, and then goes from barrier to barrier.
void World::begins_work(std::uint32_t number, Duration now) {
  if (settings_.prints != 0) return put_step(now, number, Act::print);
  next_round(number, now);
}

void World::hears_of_crash(std::uint32_t number, const ClientSend& message, Duration now) {
  Process& process = processes_[number];
  if (lies(Sabotage::oblivion)) return;
  if (process.state != Process::State::wired || !std::exchange(process.owes_crashnode, false))
    return checks_.wrong(fmt::format("process {} heard of a crash without a table", number));
  const std::uint32_t crashed = word(message.bytes, wire::kCharmHeader);
  if (process.epoch >= recoveries_.size() || recoveries_[process.epoch] != crashed)
    checks_.wrong(fmt::format("process {} heard of the loss of {} out of order", number, crashed));
  ++process.epoch;
  process.says_at = std::max(process.says_at, now + random_.between(0ms, kSlowAck));
  put_step(process.says_at, number, Act::ack);
}

void World::next_round(std::uint32_t number, Duration now) {
  const Process& process = processes_[number];
  const bool last = process.round >= whole(settings_.barriers);
  const Duration pause = scaled(ms(settings_.life), uniform(random_));
  put_step(now + pause, number, last ? Act::finish : Act::enter);
}

void World::act(const Step& what, Duration now) {
  if (settings_.in_place != 0) return renewed_acts(what, now);
  Process& process = processes_[what.process];
  if (process.state != Process::State::wired) return;
  if (static_cast<Act>(what.act) == Act::ack)
    return says(what.process, wire::make_charm_message("crash_ack"), now);
  process.in_barrier = true;
  if (passes_barriers() && settings_.rings != 0) return enters_ring(what.process, now);
  if (passes_barriers() && settings_.lookups != 0) return looks_up(what.process, now);
  if (passes_barriers()) return says(what.process, wire::native::to_frame(wire::native::BarrierEnter{}), now);
  if (entered_.size() <= process.round) entered_.resize(process.round + 1);
  ++entered_[process.round];
  says(what.process, wire::make_charm_message("barrier"), now);
}

void World::passes_barrier(std::uint32_t number, Duration now) {
  Process& process = processes_[number];
  if (process.state != Process::State::wired || !std::exchange(process.in_barrier, false))
    return checks_.wrong(fmt::format("process {} left a barrier that it was not in", number));
  if (entered_[process.round] < job_processes())
    checks_.wrong(fmt::format("barrier {} opened before all had entered", process.round));
  ++process.round;
  next_round(number, now);
}

/// A loss ends the job only before the tables are there, once somebody is ending, when nobody is left, or
/// when it comes again and again.
bool World::may_end_recovery(std::uint32_t number) {
  Process& process = processes_[number];
  using State = Process::State;
  const std::uint32_t last = whole(settings_.barriers);
  const auto others = std::count_if(processes_.begin(), processes_.end(), [&](const Process& each) {
    return &each != &process && each.state == State::wired && !each.is_cut;
  });
  const bool ending = std::any_of(processes_.begin(), processes_.end(), [&](const Process& each) {
    return each.is_done || each.round >= last || (each.round + 1 == last && each.in_barrier);
  });
  const bool starting = process.lives_before == 0 && process.state != State::wired;
  const bool ends = !process.is_done &&
                    (starting || ending || others == 0 || ++process.losses > RestartBudget::kMostInARow);
  lost_at_the_end_ = lost_at_the_end_ || (ends && ending);
  return ends;
}

void World::root_recovers(const wire::Recover& message) {
  const std::uint32_t epoch = wire::epoch_of(*message.table);
  if (epoch == recoveries_.size() + 1) recoveries_.push_back(message.crashed);
  if (epoch != recoveries_.size() || recoveries_.back() != message.crashed)
    checks_.wrong(fmt::format("epoch {} follows {}", epoch, recoveries_.size()));
}

/// The job has ended well.
void World::check_recoveries() {
  for (std::uint32_t number = 0; number < job_processes(); ++number) {
    const Process& process = processes_[number];
    if (!process.is_done) checks_.wrong(fmt::format("process {} had not ended", number));
    if (process.epoch != recoveries_.size() && !lost_at_the_end_) {
      checks_.wrong(fmt::format("process {} knows of {} crashes, there were {}", number, process.epoch,
                                recoveries_.size()));
    }
  }
}

}  // namespace charmtree::sim
