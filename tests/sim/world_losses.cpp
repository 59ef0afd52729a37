// SPDX-License-Identifier: Apache-2.0
// Jobs that go on when processes are lost. Native ones pass barriers together and end behind the last: none
// opens before all that live have entered it, each opens when they have, and nobody is said to be lost who is
// not.
#include <fmt/core.h>

#include <algorithm>

#include "tests/sim/world.hpp"
#include "tree/wire/native_message.hpp"

namespace charmtree::sim {

using namespace proto;
namespace native = wire::native;

namespace {
constexpr int kLauncherFailed = 125;
}

/// The root goes on without whoever is lost from now on.
bool World::is_running() const {
  const bool is_plain = whole(settings_.kind) == 0;
  if (is_root_awaited_) return true;
  return is_plain ? launchers_[root_].node->status().stage == Stage::run : wired_ == processes_.size();
}

void World::lose_process(std::uint32_t process, int status) {
  if (!is_running()) checks_.grazed(status);
  processes_[process].is_lost = true;
}

void World::lose_launcher(std::uint32_t id, bool with_host) {
  if (!is_running()) checks_.grazed(kLauncherFailed);
  if (settings_.repairs == 0 || !is_running()) mark_lost(id);
  if (!with_host) return;
  for (Process& process : processes_) process.is_lost = process.is_lost || process.launcher == id;
}

/// All there and below may be: who is to adopt them may be lost, too, or too late.
void World::mark_lost(std::uint32_t id) {
  for (Process& process : processes_) process.may_be_lost = process.may_be_lost || process.launcher == id;
  for (const auto& [link, slot] : launchers_[id].children) {
    if (slot.wire != kNobody && wires_[slot.wire].parent == id) mark_lost(wires_[slot.wire].child);
  }
}

/// Who was not lost after all must have been waited for.
void World::settle_losses(const wire::ProcessSet& lost) {
  for (std::uint32_t number = 0; number < processes_.size(); ++number) {
    Process& process = processes_[number];
    const bool is_lost = lost.contains(number);
    if (is_lost && !process.is_lost && !process.may_be_lost)
      checks_.wrong(fmt::format("process {} is said to be lost, and was not", number));
    if (!is_lost && process.is_missed)
      checks_.wrong(
          fmt::format("a barrier opened before process {} had entered, which was not lost", number));
    process.is_lost = process.is_lost || is_lost;
  }
}

void World::surviving_hears(std::uint32_t number, const ClientSend& message, Duration now) {
  wire::FrameDecoder decoder{wire::kMaxLinkFrame};
  decoder.append(message.bytes);
  if (message.tail) return;  // the table
  for (auto frame = decoder.next(); frame && frame->has_value(); frame = decoder.next()) {
    const auto heard = native::decode_from_launcher(**frame);
    if (!heard) return checks_.wrong(fmt::format("process {} heard: {}", number, heard.error().what));
    if (std::holds_alternative<native::BarrierRelease>(*heard)) survivor_passes(number, now);
    const auto* lost = std::get_if<native::Lost>(&*heard);
    if (lost == nullptr) continue;
    for (const auto& [first, last] : lost->processes) {
      for (std::uint32_t process = first; process <= last; ++process) {
        if (process >= processes_.size() ||
            (!processes_[process].is_lost && !processes_[process].may_be_lost))
          checks_.wrong(fmt::format("process {} heard that {} is lost, which lives", number, process));
      }
    }
  }
}

void World::survivor_passes(std::uint32_t number, Duration now) {
  Process& process = processes_[number];
  if (process.state != Process::State::wired || !std::exchange(process.in_barrier, false))
    return checks_.wrong(fmt::format("process {} left a barrier that it was not in", number));
  for (Process& each : processes_) {
    const bool is_late = each.round < process.round + (each.in_barrier ? 0 : 1) && &each != &process;
    if (!is_late || each.is_lost) continue;
    each.is_missed = true;
    if (!each.may_be_lost)
      checks_.wrong(fmt::format("barrier {} opened before process {} had entered", process.round,
                                &each - processes_.data()));
  }
  ++process.round;
  next_round(number, now);
}

void World::allow_if_all_lost() {
  const bool all = std::all_of(processes_.begin(), processes_.end(),
                               [](const Process& process) { return process.is_lost || process.may_be_lost; });
  if (all && outcome_.status > 0) checks_.grazed(outcome_.status);
}

void World::check_survivors() {
  if (outcome_.status != 0) return;
  for (std::uint32_t number = 0; number < processes_.size(); ++number) {
    const Process& process = processes_[number];
    const bool is_plain = whole(settings_.kind) == 0;
    if (process.is_lost) continue;
    if (process.state != Process::State::gone || (!is_plain && !process.is_done))
      checks_.wrong(fmt::format("process {}, which was not lost, had not ended", number));
  }
}

}  // namespace charmtree::sim
