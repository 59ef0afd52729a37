// SPDX-License-Identifier: Apache-2.0
// A process goes unborn -> starting -> running -> gone by the shell's answers; beside that, its server says
// when it registered and when it is done. The two meet in one place, tell_exit: a connection that is lost
// waits a moment for the exit that explains it, so that the user reads "killed by signal 9" and not
// "connection closed"; an exit waits for the end of the connection, where the last lines of output or the
// reason of an abort may still be on their way.
#include "tree/job/host_ends.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tree/base/exit_status.hpp"
#include "tree/base/signals.hpp"
#include "tree/turn/process_end.hpp"

namespace charmtree::proto {

namespace {

/// The line of the dynamic loader in what a process wrote before it died of status 127.
std::string loader_complaint(const std::string& text) {
  const std::size_t at = text.find("error while loading shared libraries:");
  if (at == std::string::npos) return {};
  const std::size_t begin = text.find(": ", at) + 2;
  return text.substr(begin, text.find('\n', begin) - begin);
}

bool has_finalised(const OwnProcess& process) {
  return process.end.said && process.can().exit_decides;
}

bool must_be_heard(const OwnProcess& process, const HostTurn& turn) {
  const KnownEnd& end = process.end;
  return process.kind && !end.cut_off && !end.said && !end.told && !turn.own.phase().ending;
}

bool can_be_restarted(const OwnProcess& process, const HostTurn& turn) {
  using Restartable = Abilities::Restartable;
  const Restartable restart = process.can().restart;
  if (is_by_program(turn.job.loss.recovery)) return process.awaited || restart == Restartable::with_all;
  return restart == Restartable::alone && turn.job.loss.recovery == wire::Recovery::in_place &&
         !turn.own.phase().forking;
}

/// What it had told before it was lost. One that others wait for counts as registered.
wire::ProcessExit exit_of(std::uint32_t number, const HostTurn& turn) {
  const OwnProcess& process = turn.own.at(number);
  wire::ProcessExit exit;
  exit.process = number;
  exit.registered = process.kind.has_value() ? !has_finalised(process) : process.awaited;
  exit.ended = process.end.said;
  exit.restartable = can_be_restarted(process, turn);
  exit.asked = turn.own.phase().ending;
  return exit;
}

void explain_kill(const OwnProcess& process, wire::ProcessExit& exit) {
  if (process.end.hung == Duration{0}) return;
  exit.hung = true;
  exit.text = fmt::format("it had not served its socket for {}", words_for(process.end.hung));
}

void tell_who_ended(wire::ProcessSet::Range who, HostTurn& turn) {
  if (turn.job.names_who_ended()) turn.up.facts.who_ended.push_back(who);
}

}  // namespace

/// Only the first cause is told with them, so that those of thousands that end together cost nothing.
std::string HostEnds::take_last_words(const OwnProcess& process) {
  return std::exchange(told_last_words_, true) ? std::string{} : process.output.last_words();
}

void HostEnds::on(const ProcessExited& event, HostTurn& turn) {
  OwnProcess& process = turn.own.at(event.process);
  const wire::JobSpec& job = turn.job;
  turn.own.is_gone(event.process);
  const bool comes_again = job.loss.recovery == wire::Recovery::in_place &&
                           (process.successor.is_ordered() || event.code != 0 || event.signal != 0);
  const bool typed_for = event.process == job.input.process && !job.input.to_all && !comes_again;
  if (typed_for && (job.terminal || job.input.is_typed)) turn.up.news.emplace_back(InputReaderGone{});
  process.end.exit = event;
  waiting_exits_.insert(event.process);
  process.end.report_by = turn.now + kLastWords;
  if (!must_be_heard(process, turn)) tell_waiting_exit(event.process, turn);
}

void HostEnds::tell_waiting_exit(std::uint32_t number, HostTurn& turn) {
  OwnProcess& process = turn.own.at(number);
  const ProcessExited event = *std::exchange(process.end.exit, std::nullopt);
  waiting_exits_.erase(number);
  process.end.report_by = kNever;
  turn.flush(number, wire::Tail::ended);
  tell_exit(number, event, turn);
}

void HostEnds::tell_exit(std::uint32_t number, const ProcessExited& event, HostTurn& turn) {
  OwnProcess& process = turn.own.at(number);
  const OwnProcesses::Phase& phase = turn.own.phase();
  const LocalProcesses& local = turn.own.local();
  wire::Facts& facts = turn.up.facts;
  if (process.end.told) return;
  process.end.told = true;
  process.end.explain_by = kNever;
  if (phase.regrouping && !process.kind) {
    turn.up.messages.emplace_back(wire::Left{number});
    return;
  }
  if (phase.ending && process.can().is_let_go) return;
  const bool finalised = has_finalised(process);
  if (process.end.said && !finalised) return;
  std::uint8_t code = event.code;
  if (finalised && code == 0 && process.end.code != 0)
    code = (process.end.code & 0xFF) == 0 ? 1 : static_cast<std::uint8_t>(process.end.code);
  if (phase.forking && number == local.first && !process.kind && local.count > 1) {  // the others are unborn
    facts.exited_ok += local.count - 1;
    tell_who_ended({number + 1, number + local.count - 1}, turn);
  }
  if (((!process.kind && !process.awaited) || finalised) && code == 0 && event.signal == 0) {
    ++facts.exited_ok;
    if (const auto peers = process.end.peers) facts.peers.add({1, *peers, *peers, *peers});
    tell_who_ended({number, number}, turn);
    if (!process.kind) facts.first_ok = std::min(number, facts.first_ok.value_or(number));
    return;
  }
  wire::ProcessExit exit = exit_of(number, turn);
  exit.code = code;
  exit.signal = event.signal;
  exit.core = event.core;
  if (event.unknown) {
    exit.lost_connection = true;
    exit.text = "exited or was killed; only the process that forked it knows how";
  }
  if (event.signal != 0) exit.text = event.note;
  if (event.code == 127) exit.text = loader_complaint(process.output.last_words());
  if (process.end.is_cause) exit.text = process.end.why;
  explain_kill(process, exit);
  exit.last_words = take_last_words(process);
  facts.exits.push_back(std::move(exit));
}

void HostEnds::on(const SpawnFailed& event, HostTurn& turn) {
  OwnProcess& process = turn.own.at(event.process);
  if (process.restarts == 0) return;
  process.end.told = true;
  wire::ProcessExit exit = exit_of(event.process, turn);
  exit.lost_connection = true;
  exit.text = to_string(event.error);
  const bool hopeless = event.error.code == Errc::no_program || event.error.code == Errc::not_executable;
  exit.restartable = exit.restartable && !hopeless;
  turn.up.facts.exits.push_back(std::move(exit));
}

void HostEnds::says(const Ended& output, HostTurn& turn) {
  OwnProcess& process = turn.own.at(output.process);
  wire::Facts& facts = turn.up.facts;
  process.end.said = true;
  process.end.peers = output.peers;
  if (process.can().exit_decides) {  // and what it said counts; it may print until then
    process.end.code = output.code;
    return;
  }
  turn.flush(output.process, wire::Tail::prompt);
  ++facts.ended;
  tell_who_ended({output.process, output.process}, turn);
  if (output.code != 0 && !facts.code) facts.code = wire::Code{output.process, output.code};
}

void HostEnds::says(Aborted& output, HostTurn& turn) {
  OwnProcess& process = turn.own.at(output.process);
  turn.flush(output.process, wire::Tail::ended);
  process.end.told = true;              // the abort is its end
  if (turn.own.phase().ending) return;  // what is asked to end may do it so
  turn.up.messages.push_back(
      wire::AbortUp{output.process, output.code, std::move(output.text), take_last_words(process)});
}

void HostEnds::says(ClientLost& output, HostTurn& turn) {
  KnownEnd& end = turn.own.at(output.process).end;
  end.explain_by = turn.now + kExplain;
  end.why = std::move(output.why);
  end.is_cause = output.is_cause;
  end.cut_off = true;
}

void HostEnds::says(const Refused& output, HostTurn& turn) {
  if (std::exchange(turn.own.at(output.process).end.told, true)) return;
  turn.up.facts.exits.push_back({.process = output.process, .refused = true, .text = output.why});
}

void HostEnds::says(const wire::Silence& silence, HostTurn& turn) {
  turn.up.messages.emplace_back(silence);
  if (silence.state != wire::Silence::State::hung || !turn.job.silence.kills) return;
  turn.own.at(silence.process).end.hung = silence.lasted;
  turn.out.push_back(Signal{turn.own.name_of(silence.process), signals::kKill});
}

void HostEnds::tell_heard(HostTurn& turn) {
  std::vector<std::uint32_t> heard;
  for (const std::uint32_t process : waiting_exits_) {
    if (!must_be_heard(std::as_const(turn.own).at(process), turn)) heard.push_back(process);
  }
  for (const std::uint32_t process : heard) tell_waiting_exit(process, turn);
}

void HostEnds::reshape(const OwnProcesses& own) {
  waiting_exits_.clear();
  for (std::uint32_t rank = 0; rank < own.local().size(); ++rank) {
    if (own.all()[rank].end.exit) waiting_exits_.insert(own.local().at(rank));
  }
}

void HostEnds::tick(std::uint32_t number, HostTurn& turn) {
  OwnProcess& process = turn.own.at(number);
  if (process.end.report_by <= turn.now) tell_waiting_exit(number, turn);
  if (process.end.explain_by > turn.now) return;
  process.end.explain_by = kNever;
  if (process.end.told || turn.own.phase().ending) return;
  process.end.told = true;
  wire::ProcessExit exit = exit_of(number, turn);
  exit.lost_connection = true;
  exit.text = process.end.why;
  explain_kill(process, exit);
  exit.last_words = take_last_words(process);
  turn.up.facts.exits.push_back(std::move(exit));
}

}  // namespace charmtree::proto
