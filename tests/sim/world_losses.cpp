// SPDX-License-Identifier: Apache-2.0
// Jobs that go on when processes are lost. Native ones pass barriers together and end behind the last: none
// opens before all that live have entered it, each opens when they have, and nobody is said to be lost who is
// not.
#include <fmt/core.h>

#include <algorithm>

#include "health/restart_budget.hpp"
#include "tests/sim/programs.hpp"
#include "tests/sim/world.hpp"
#include "tree/wire/native_message.hpp"

namespace charmtree::sim {

using namespace proto;
namespace native = wire::native;

namespace {

int status_after(int code, int signal) {
  return signal != 0 ? kSignalled + signal : code;
}
}  // namespace

std::uint32_t World::job_processes() const {
  if (!is_numbered_late(settings_)) return hosts_.size() * whole(settings_.processes);
  const auto& root = launchers_[root_].node;
  if (!root) return numbered_;
  std::uint32_t all = 0;
  for (const Host& host : root->hosts()) all += host.processes;
  return all;
}

World::Harm World::draw_harm(const Process& process, Fault kind) {
  if (kind == Fault::kill_process) return Harm::faults;
  if (kind == Fault::fail_process) return Harm::fails;
  constexpr Harm kAny[] = {Harm::killed, Harm::fails, Harm::cut};
  using State = Process::State;
  const bool has_connection = process.state == State::joined || process.state == State::wired;
  return kAny[random_.below(has_connection ? 3 : 2)];
}

/// What that may come to, by what the job does about it. Whoever is started again one by one ends it only if
/// it has said that it is done, when all may be let go before anybody knows, or if it comes again and again.
void World::strike_process(Fault kind, Duration now) {
  const std::uint32_t number = some_process();
  if (number == kNobody || processes_[number].is_cut) return;
  Process& process = processes_[number];
  const Harm harm = draw_harm(process, kind);
  const int code = harm == Harm::fails ? kExitStatus : harm == Harm::cut ? kCut : 0;
  const int signal = harm == Harm::faults ? kSegmentation : harm == Harm::killed ? kKilled : 0;
  const int status = status_after(code, signal);
  if (settings_.restarts != 0 || settings_.in_place != 0) {
    const bool ends = settings_.restarts != 0
                          ? may_end_recovery(number)
                          : process.is_done || ++process.losses > RestartBudget::kMostInARow;
    for (const int any : {kSignalled + kSegmentation, kSignalled + kKilled, kExitStatus, kCut}) {
      if (ends) checks_.grazed(any);
    }
  } else if (goes_on()) {
    lose_process(number, status);
  } else {
    // Of a plain program that has a bad status all others go on; the job has it when they have ended.
    const bool ends = signal != 0 || whole(settings_.kind) != 0;
    struck(process.state != Process::State::ended, status, ends ? now : kNotStruck);
  }
  if (settings_.log != 0) fmt::print("{:12.6f} ** process {} is lost\n", seconds(now), number);
  if (harm != Harm::cut) return exits(number, code, signal, now);
  process.is_cut = true;
  process.connected = false;
  put(now, ToNode{process.launcher, ClientClosed{client_kind(), client_of(number)}});
}

/// Whoever seeks a launcher that is cut off finds it in time: logins are as quick as usual, and nobody is
/// stopped. What else is lost meanwhile may have been to adopt it.
bool World::nobody_else_is_lost() const {
  const bool is_quick = settings_.pause == 0 && settings_.fat == 0 && settings_.slow == 0 &&
                        settings_.stragglers == 0 && settings_.touchy == 0 && settings_.shared == 0;
  const bool is_alone = settings_.crash + settings_.lost == 0 ||
                        settings_.crash + settings_.lost + settings_.cut + settings_.root_lost == 1;
  return settings_.repairs != 0 && is_quick && is_alone;
}

/// The root goes on without whoever is lost from now on.
bool World::is_running() const {
  const bool is_plain = whole(settings_.kind) == 0;
  if (is_root_awaited_) return true;
  if (enters_fences() && launchers_[root_].node->status().stage != Stage::run) return false;
  return is_plain ? launchers_[root_].node->status().stage == Stage::run
                  : wired_ > 0 && wired_ == job_processes();
}

void World::lose_process(std::uint32_t process, int status) {
  if (!is_running()) checks_.grazed(status);
  processes_[process].is_lost = true;
}

void World::lose_launcher(std::uint32_t id, bool with_host) {
  if (!is_running()) checks_.grazed(kLauncherFailed);
  if (!nobody_else_is_lost() || !is_running()) mark_lost(id);
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
  for (std::uint32_t number = 0; number < job_processes(); ++number) {
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

/// A root that was lost while it ended the job had told that to its launcher, and others go on.
bool World::is_let_go(std::uint32_t number) const {
  const std::uint32_t id = processes_[number].launcher;
  if (!lost_at_its_end_ || id == kNobody) return false;
  return !launchers_[id].node || launchers_[id].node->ending();
}

void World::surviving_hears(std::uint32_t number, const ClientSend& message, Duration now) {
  wire::FrameDecoder decoder{wire::kMaxLinkFrame};
  decoder.append(message.bytes);
  if (message.shared.coded) return;
  for (auto frame = decoder.next(); frame && frame->has_value(); frame = decoder.next()) {
    const auto heard = native::decode_from_launcher(**frame);
    if (!heard) return checks_.wrong(fmt::format("process {} heard: {}", number, heard.error().what));
    if (holds_alternative<native::BarrierRelease>(*heard)) survivor_passes(number, now);
    if (const auto* ring = get_if<native::RingOver>(&*heard)) leaves_ring(number, ring, now);
    if (holds_alternative<native::FenceOver>(*heard)) leaves_ring(number, nullptr, now);
    if (const auto* told = get_if<native::Told>(&*heard)) is_told(number, *told, now);
    if (const auto* asked = get_if<native::Asked>(&*heard)) is_asked(number, *asked, now);
    const auto* lost = get_if<native::Lost>(&*heard);
    if (lost == nullptr) continue;
    for (const auto& [first, last] : lost->processes) {
      for (std::uint32_t process = first; process <= last; ++process) {
        if (process >= processes_.size() ||
            (!processes_[process].is_lost && !processes_[process].may_be_lost && !is_let_go(process)))
          checks_.wrong(fmt::format("process {} heard that {} is lost, which lives", number, process));
      }
    }
  }
}

void World::survivor_passes(std::uint32_t number, Duration now) {
  Process& process = processes_[number];
  if (process.state != Process::State::wired || !std::exchange(process.in_barrier, false))
    return checks_.wrong(fmt::format("process {} left a barrier that it was not in", number));
  for (std::uint32_t other = 0; other < job_processes(); ++other) {
    Process& each = processes_[other];
    const bool is_late = each.round < process.round + (each.in_barrier ? 0 : 1) && &each != &process;
    if (!is_late || each.is_lost || is_let_go(other)) continue;
    each.is_missed = true;
    if (!each.may_be_lost)
      checks_.wrong(fmt::format("barrier {} opened before process {} had entered", process.round, other));
  }
  ++process.round;
  next_round(number, now);
}

void World::allow_if_all_lost() {
  const bool all = std::all_of(processes_.begin(), processes_.begin() + job_processes(),
                               [](const Process& process) { return process.is_lost || process.may_be_lost; });
  if (all && outcome_.status > 0) checks_.grazed(outcome_.status);
}

void World::check_survivors() {
  if (outcome_.status != 0) return;
  for (std::uint32_t number = 0; number < job_processes(); ++number) {
    const Process& process = processes_[number];
    const bool is_plain = whole(settings_.kind) == 0;
    if (process.is_lost) continue;
    if (process.state != Process::State::gone || (!is_plain && !process.is_done))
      checks_.wrong(fmt::format("process {}, which was not lost, had not ended", number));
  }
}

}  // namespace charmtree::sim
