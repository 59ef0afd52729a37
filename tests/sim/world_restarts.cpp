// SPDX-License-Identifier: Apache-2.0
// Plain and native programs whose processes are started again when they are lost (++on-failure restart).
// Native ones go through the same barriers and end behind the last. One that was started again goes on where
// the others are, of which it is told with its table. What must hold: everybody is told of every restart
// once, in order, and has passed as many barriers by then as all others; no barrier opens before every
// process has entered it, in its present life if the root has told of that; who is told that one has opened
// has been told of all restarts before it. A process takes some time to take in what it is told, and enters
// barriers of the epoch that it knows.
#include <fmt/format.h>

#include <algorithm>

#include "health/restart_budget.hpp"
#include "tests/sim/dice.hpp"
#include "tests/sim/programs.hpp"
#include "tests/sim/world.hpp"

namespace charmtree::sim {

using namespace proto;
namespace native = wire::native;

namespace {

constexpr Duration kSlowToHear = 60ms;

}  // namespace

void World::starts_again(const Spawn& action) {
  Process& process = processes_[action.process];
  if (process.state != Process::State::gone)
    checks_.wrong(fmt::format("process {} was started again while it lived", action.process));
  const bool skips = action.restarts > process.lives_before + 1;  // the order before was lost with a host
  if (action.restarts <= process.lives_before || (skips && !hosts_lost_) || !action.more_arguments.empty())
    checks_.wrong(fmt::format("process {} was started again as number {}", action.process, action.restarts));
  begin_next_life(action.process, action.restarts);
}

void World::renewed_hears(std::uint32_t number, const ClientSend& message, Duration now) {
  Process& process = processes_[number];
  if (process.is_cut) return;
  wire::FrameDecoder decoder{wire::kMaxLinkFrame};
  decoder.append(message.bytes);
  for (auto frame = decoder.next(); frame && frame->has_value(); frame = decoder.next()) {
    const auto heard = native::decode_from_launcher(**frame);
    if (!heard) return checks_.wrong(fmt::format("process {} heard: {}", number, heard.error().what));
    if (const auto* welcome = get_if<native::Welcome>(&*heard)) {
      process.known = welcome->epoch;
      if (welcome->restarts != process.lives_before)
        checks_.wrong(fmt::format("process {} was told that it is number {}", number, welcome->restarts));
    } else if (const auto* missed = get_if<native::Missed>(&*heard)) {
      process.round = process.entered = missed->barriers;
    } else if (holds_alternative<native::Table>(*heard)) {
      const auto table = wire::decode_table(*message.shared.coded);
      if (!table) return checks_.wrong(fmt::format("process {} got no table", number));
      readmitted(number, *table, now);
    } else if (const auto* renewed = get_if<native::Renewed>(&*heard)) {
      hears_of_restart(number, *renewed, now);
    } else if (holds_alternative<native::BarrierRelease>(*heard)) {
      renewed_passes(number, now);
    } else if (holds_alternative<native::Finished>(*heard)) {
      put(now + random_.between(0ms, 1ms), Dies{number, 0, 0, process.lives_before});
    }
  }
}

/// Or admitted, with all others.
void World::readmitted(std::uint32_t number, const wire::NodeTable& table, Duration now) {
  Process& process = processes_[number];
  if (process.state != Process::State::joined)
    return checks_.wrong(fmt::format("process {} got a table that it does not expect", number));
  if (table.epoch > renewals_.size())
    return checks_.wrong(fmt::format("process {} got a table of epoch {}", number, table.epoch));
  std::vector<std::uint32_t> lives = first_lives_;
  for (std::uint32_t epoch = 0; epoch < table.epoch; ++epoch) {
    for (const auto& [which, life] : renewals_[epoch].lives) lives[which] = life;
  }
  std::uint32_t next = 0;
  for (const wire::TupleBlock& block : table.blocks) {
    for (const wire::Tuple& tuple : block.tuples) {
      if (tuple.data != two_bytes(port_of(next, lives[next])))
        checks_.wrong(fmt::format("process {} got a wrong tuple of process {}", number, next));
      ++next;
    }
  }
  const std::uint32_t opened = table.epoch == 0 ? 0 : renewals_[table.epoch - 1].opened;
  if (next != job_processes() || process.round != opened)
    checks_.wrong(fmt::format("process {} got a table of {}, after {} barriers, not {}", number, next,
                              process.round, opened));
  process.state = Process::State::wired;
  process.epoch = process.known = table.epoch;
  outcome_.wired = now;
  if (process.lives_before == 0) ++wired_;
  begins_work(number, now);
}

void World::hears_of_restart(std::uint32_t number, const native::Renewed& message, Duration now) {
  Process& process = processes_[number];
  if (lies(Sabotage::oblivion)) return;
  if (process.state != Process::State::wired || message.epoch != process.epoch + 1 ||
      message.epoch > renewals_.size())
    return checks_.wrong(fmt::format("process {} heard of epoch {} out of order", number, message.epoch));
  const Renewal& renewal = renewals_[process.epoch++];
  std::size_t told = 0;
  for (const wire::TupleBlock& block : message.blocks) {
    for (std::uint32_t i = 0; i < block.tuples.size(); ++i, ++told) {
      const std::pair<std::uint32_t, std::uint32_t> one = renewal.lives.at(told);
      if (block.first_process + i != one.first ||
          block.tuples[i].data != two_bytes(port_of(one.first, one.second)))
        checks_.wrong(fmt::format("process {} heard of another restart than there was", number));
    }
  }
  if (told != renewal.lives.size() || process.round != renewal.opened)
    checks_.wrong(fmt::format("process {} heard of {} restarts of {}, after {} barriers, not {}", number,
                              told, renewal.lives.size(), process.round, renewal.opened));
  process.says_at = std::max(process.says_at, now + random_.between(0ms, kSlowToHear));
  put_step(process.says_at, number, Act::ack);
}

void World::renewed_acts(const Step& what, Duration now) {
  Process& process = processes_[what.process];
  if (process.state != Process::State::wired) return;
  const auto act = static_cast<Act>(what.act);
  if (act == Act::ack) ++process.known;
  if (act == Act::enter) {
    process.in_barrier = true;
    process.entered = process.round + 1;
  }
  if (process.in_barrier) says(what.process, native::to_frame(native::BarrierEnter{process.known}), now);
}

void World::renewed_passes(std::uint32_t number, Duration now) {
  Process& process = processes_[number];
  if (process.state != Process::State::wired || !std::exchange(process.in_barrier, false))
    return checks_.wrong(fmt::format("process {} left a barrier that it was not in", number));
  if (process.round >= opened_in_.size() || opened_in_[process.round] != process.epoch)
    checks_.wrong(
        fmt::format("process {} left barrier {} in epoch {}", number, process.round, process.epoch));
  ++process.round;
  next_round(number, now);
}

/// The first table: some may have been started again before they registered.
void World::root_knows(const std::string& coded) {
  known_lives_.resize(processes_.size());
  const auto table = wire::decode_table(coded);
  for (const wire::TupleBlock& block : table->blocks) {
    for (std::uint32_t i = 0; i < block.tuples.size(); ++i) {
      const std::uint32_t process = block.first_process + i;
      std::uint32_t life = processes_[process].lives_before;
      while (life > 0 && block.tuples[i].data != two_bytes(port_of(process, life))) --life;
      known_lives_[process] = life;
    }
  }
  first_lives_ = known_lives_;
}

/// The root sends it to each of its children.
void World::root_renews(const wire::Renewed& message) {
  if (message.epoch == renewals_.size()) return;
  if (message.epoch != renewals_.size() + 1)
    checks_.wrong(fmt::format("epoch {} follows {}", message.epoch, renewals_.size()));
  Renewal& renewal = renewals_.emplace_back();
  renewal.opened = static_cast<std::uint32_t>(opened_in_.size());
  for (const wire::TupleBlock& block : message.blocks) {
    for (std::uint32_t i = 0; i < block.tuples.size(); ++i) {
      const std::uint32_t process = block.first_process + i;
      std::uint32_t life = known_lives_[process] + 1;
      while (life < processes_[process].lives_before &&
             block.tuples[i].data != two_bytes(port_of(process, life)))
        ++life;
      known_lives_[process] = life;
      renewal.lives.emplace_back(process, life);
    }
  }
}

void World::root_releases(const wire::Release& message) {
  const auto kind = static_cast<BarrierKind>(message.kind);
  if (settings_.in_place == 0 || kind != BarrierKind::all) return;
  const auto round = static_cast<std::uint32_t>(opened_in_.size());
  opened_in_.push_back(static_cast<std::uint32_t>(renewals_.size()));
  for (std::uint32_t number = 0; number < job_processes(); ++number) {
    const Process& process = processes_[number];
    const bool is_told = process.lives_before == 0 || known_lives_[number] == process.lives_before;
    const std::uint32_t entered = is_told ? process.entered : std::max(process.before, process.entered);
    if (entered <= round)
      checks_.wrong(fmt::format("barrier {} opened before process {} had entered", round, number));
  }
}

void World::all_below(std::uint32_t id, std::set<std::uint32_t>& launchers) const {
  launchers.insert(id);
  for (const auto& [link, slot] : launchers_[id].children) {
    if (slot.wire != kNobody && wires_[slot.wire].parent == id) all_below(wires_[slot.wire].child, launchers);
  }
}

/// A launcher is lost with all below it, and their processes go on elsewhere. That ends the job before every
/// process has its table (of plain programs: before all have been started), if nobody is left, or nobody has
/// anything to do, or if it befalls the same process again and again.
void World::lose_in_place(std::uint32_t id) {
  hosts_lost_ = true;
  std::set<std::uint32_t> lost;
  all_below(id, lost);
  bool anybody = false, hopeless = false, done = true;
  for (std::uint32_t other = 1; other < launchers_.size(); ++other) {
    const Launcher& launcher = launchers_[other];
    anybody =
        anybody || (launcher.node && launcher.is_welcomed && !seen(other).is_orphan && !lost.contains(other));
  }
  for (Process& process : processes_) {
    if (process.launcher == kNobody || !lost.contains(process.launcher)) continue;
    hopeless = hopeless || ++process.losses > RestartBudget::kMostInARow;
    done = done && process.is_done;
  }
  const bool is_native = whole(settings_.kind) != 0;
  const bool starting =
      launchers_[root_].node->status().stage != Stage::run || (is_native && outcome_.table == 0);
  if (anybody && !hopeless && !starting && !(is_native && done)) return;
  for (const int status : {kLauncherFailed, kSignalled + kKilled, kExitStatus, kCut}) checks_.grazed(status);
}

/// The job has ended well.
void World::check_restarts() {
  for (std::uint32_t number = 0; number < job_processes(); ++number) {
    const Process& process = processes_[number];
    if (whole(settings_.kind) != 0 && (!process.is_done || process.round != whole(settings_.barriers)))
      checks_.wrong(fmt::format("process {} had not ended", number));
  }
}

}  // namespace charmtree::sim
