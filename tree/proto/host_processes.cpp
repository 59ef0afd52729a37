// SPDX-License-Identifier: Apache-2.0
// A process goes unborn -> starting -> running -> gone by the shell's answers; beside that, its server says
// when it registered and when it is done. The two meet in one place, report_exit: a connection that is lost
// waits a moment for the exit that explains it, so that the user reads "killed by signal 9" and not
// "connection closed"; an exit waits for the end of the connection, where the last lines of output or the
// reason of an abort may still be on their way.
#include "tree/proto/host_processes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tree/base/exit_status.hpp"
#include "tree/base/overloaded.hpp"
#include "tree/clients/program_kind.hpp"

namespace charmtree::proto {

namespace {

/// The line of the dynamic loader in what a process wrote before it died of status 127.
std::string loader_complaint(const std::string& text) {
  const std::size_t at = text.find("error while loading shared libraries:");
  if (at == std::string::npos) return {};
  const std::size_t begin = text.find(": ", at) + 2;
  return text.substr(begin, text.find('\n', begin) - begin);
}

}  // namespace

HostProcesses::HostProcesses(std::shared_ptr<const wire::JobSpec> job, const Host& self)
    : job_(std::move(job)),
      self_(self),
      local_{self.first_process, self.processes, job_->processes},
      servers_(make_client_servers(*job_, local_, self.index)),
      processes_(self.processes),
      next_name_(self.first_process + self.processes) {}

const Abilities& HostProcesses::abilities_of(const Process& process) const {
  return abilities(process.kind ? servers_[static_cast<std::size_t>(*process.kind)]->program()
                                : ProgramKind::plain);
}

void HostProcesses::prepare(Actions& out) {
  out.push_back(Prepare{job_, self_});
}

void HostProcesses::tell(const Host& self, Error error, Upward& up) const {
  up.facts.hosts_failed.push_back({self.index, std::move(error)});
}

void HostProcesses::on(const Prepared& event, Instant now, Actions&, Upward& up) {
  if (ending_) return;
  if (event.checkup) up.messages.emplace_back(*event.checkup);
  if (event.blind) up.facts.blind.push_back(self_.index);
  if (!event.ok) {
    failed_ = true;
    tell(self_, event.error, up);
    return;
  }
  if (!job_->checkup) {
    start({event.address, event.cpus, event.random_layout, event.can_fork}, up);
    if (local_.count > 0) return;
  }
  if (host_.cpus && job_->provision.by_topology())
    up.facts.topologies.push_back({self_.index, 1, host_.cpus->topology()});
  spawned_at_ = now;
  up.facts.hosts_up.push_back(self_.index);
}

void HostProcesses::start(ReadyHost host, Upward& up) {
  host_ = std::move(host);
  ready_ = true;
  forking_ = forks();
  if (!host_.cpus || local_.count == 0) return;
  for (std::uint32_t rank = 0; rank < local_.count; ++rank)
    bindings_.push_back(binding_of(*job_, *host_.cpus, rank));
  if (job_->report_bindings) up.messages.push_back(wire::Bindings{self_.index, bindings_});
  if (job_->bind != CpuUnit::none && !host_.cpus->bindable) {
    up.messages.push_back(
        wire::Note{self_.index, "hwloc describes another machine (HWLOC_...): nothing is bound"});
  }
}

/// Forked processes would all be bound where the first one is.
bool HostProcesses::forks() const {
  const bool wanted = job_->fork_clients == wire::ForkClients::always ||
                      (job_->fork_clients == wire::ForkClients::where_random && host_.random_layout);
  return wanted && host_.can_fork && local_.count > 1 && job_->bind == CpuUnit::none && !job_->resizes;
}

void HostProcesses::spawn(Actions& out) {
  for (std::uint32_t i = 0; i < kSpawnsAtOnce && waits_to_spawn(); ++i, ++spawned_) {
    start_process(local_.first + spawned_, {}, out);
  }
}

void HostProcesses::start_process(std::uint32_t number, std::vector<std::string> more_arguments,
                                  Actions& out) {
  at(number).state = Process::State::starting;
  ++alive_;
  Spawn spawn{name_of(number), std::move(more_arguments), {}, at(number).restarts};
  const std::uint32_t rank = local_.rank_of(number);
  if (!bindings_.empty() && bindings_[rank].by == wire::Binding::By::launcher)
    spawn.cpus = bindings_[rank].pus;
  out.push_back(std::move(spawn));
}

void HostProcesses::on(const Spawned& event, Instant now, Actions&, Upward& up) {
  Process& process = at(event.process);
  if (process.state == Process::State::starting) process.state = Process::State::running;
  process.held = false;
  look_at_pipes_ = true;
  if (process.restarts > 0) return;
  if (++started_ < to_spawn() || failed_ || spawned_at_ != kNever) return;
  spawned_at_ = now;
  up.facts.hosts_up.push_back(self_.index);
}

/// What is not found is still seen to end by its connection, and killed as a leftover.
void HostProcesses::on(const Adopted& event, Instant, Actions&, Upward& up) {
  Process& process = at(event.process);
  if (process.state != Process::State::starting) return;
  process.state = event.found ? Process::State::running : Process::State::gone;
  if (event.found) return;
  --alive_;
  up.messages.push_back(
      wire::Note{self_.index, fmt::format("the pid of forked process {} does not show", event.process)});
}

void HostProcesses::on(const SpawnFailed& event, Instant, Actions&, Upward& up) {
  Process& process = at(event.process);
  process.state = Process::State::gone;
  --alive_;
  if (process.restarts > 0) {
    process.exited = true;
    wire::ProcessExit exit = exit_of(event.process);
    exit.lost_connection = true;
    exit.text = to_string(event.error);
    const bool hopeless = event.error.code == Errc::no_program || event.error.code == Errc::not_executable;
    exit.restartable = exit.restartable && !hopeless;
    up.facts.exits.push_back(std::move(exit));
    return;
  }
  ++started_;
  if (!failed_ && !ending_) {
    if (spawned_at_ == kNever)
      tell(self_, event.error, up);
    else  // one of those that could not be forked: the host has answered already
      up.facts.exits.push_back({.process = event.process, .refused = true, .text = to_string(event.error)});
  }
  failed_ = true;
}

void HostProcesses::flush(std::uint32_t process, wire::Tail tail, Upward& up) {
  at(process).lines.flush(tail, {*job_, process, up.messages});
}

void HostProcesses::on(const ProcessOutput& event, Instant now, Actions&, Upward& up) {
  Process& process = at(event.process);
  if (event.stream == Stream::terminal) {
    std::string bytes = event.bytes;
    if (process.on_terminal[0] || process.on_terminal[1])
      std::erase(bytes, '\0');  // a client ends each copy so
    up.messages.push_back(wire::Output{event.process, static_cast<std::uint8_t>(event.stream), false,
                                       std::move(bytes), wire::Tail::prompt, now});
    return;
  }
  if (process.copied[event.stream == Stream::out ? 0 : 1]) return;
  if (event.stream == Stream::err) process.last_words.append(event.bytes);
  process.lines.append(event.stream, event.bytes, false, now, {*job_, event.process, up.messages});
}

void HostProcesses::report_exit(std::uint32_t number, const ProcessExited& event, Upward& up) {
  Process& process = at(number);
  if (process.exited) return;
  process.exited = true;
  process.explain_by = kNever;
  if (regrouping_ && !process.kind) {
    up.messages.emplace_back(wire::Left{number});
    return;
  }
  if (ending_ && abilities_of(process).is_let_go) return;
  const bool finalised = process.ended && abilities_of(process).exit_decides;
  if (process.ended && !finalised) return;
  std::uint8_t code = event.code;
  if (finalised && code == 0 && process.code != 0)
    code = (process.code & 0xFF) == 0 ? 1 : static_cast<std::uint8_t>(process.code);
  if (forking_ && number == local_.first && !process.kind && local_.count > 1) {  // the others are unborn
    up.facts.exited_ok += local_.count - 1;
    tell_who_ended({number + 1, number + local_.count - 1}, up);
  }
  if (((!process.kind && !process.awaited) || finalised) && code == 0 && event.signal == 0) {
    ++up.facts.exited_ok;
    tell_who_ended({number, number}, up);
    if (!process.kind) up.facts.first_ok = std::min(number, up.facts.first_ok.value_or(number));
    return;
  }
  wire::ProcessExit exit = exit_of(number);
  exit.code = code;
  exit.signal = event.signal;
  exit.core = event.core;
  if (event.unknown) {
    exit.lost_connection = true;
    exit.text = "exited or was killed; only the process that forked it knows how";
  }
  if (event.signal != 0) exit.text = event.note;
  if (event.code == 127) exit.text = loader_complaint(process.last_words.bytes());
  explain_kill(process, exit);
  exit.last_words = take_last_words(number);
  up.facts.exits.push_back(std::move(exit));
}

void HostProcesses::tell_who_ended(wire::ProcessSet::Range who, Upward& up) const {
  if (job_->names_who_ended()) up.facts.who_ended.push_back(who);
}

/// Only the first cause is told with them, so that those of thousands that end together cost nothing.
std::string HostProcesses::take_last_words(std::uint32_t process) {
  return std::exchange(told_last_words_, true) ? std::string{} : at(process).last_words.bytes();
}

/// What it had told before it was lost. One that others wait for counts as registered.
wire::ProcessExit HostProcesses::exit_of(std::uint32_t number) const {
  const Process& process = at(number);
  const bool finalised = process.ended && abilities_of(process).exit_decides;
  wire::ProcessExit exit;
  exit.process = number;
  exit.registered = process.kind.has_value() ? !finalised : process.awaited;
  exit.ended = process.ended;
  exit.restartable = can_be_restarted(process);
  exit.asked = ending_;
  return exit;
}

bool HostProcesses::can_be_restarted(const Process& process) const {
  using Restart = Abilities::Restart;
  const Restart restart = abilities_of(process).restart;
  if (job_->restarts_processes) return process.awaited || restart == Restart::with_all;
  return restart == Restart::alone && job_->restarts_in_place && !forking_;
}

bool HostProcesses::must_be_heard(const Process& process) const {
  return process.kind && !process.lost && !process.ended && !process.exited && !ending_;
}

void HostProcesses::on(const ProcessExited& event, Instant now, Actions& out, Upward& up) {
  Process& process = at(event.process);
  if (process.state == Process::State::gone) return;
  process.state = Process::State::gone;
  --alive_;
  const bool comes_again = job_->restarts_in_place && (process.next || event.code != 0 || event.signal != 0);
  const bool typed_for = event.process == job_->input_process && !job_->input_to_all && !comes_again;
  if (typed_for && (job_->terminal || job_->input_is_typed)) up.messages.emplace_back(wire::InputReturned{});
  process.exit = event;
  ++waiting_exits_;
  process.report_by = now + kLastWords;
  if (!must_be_heard(process)) report_waiting_exit(event.process, up);
  if (process.next) start_anew(event.process, out);
}

void HostProcesses::report_waiting_exit(std::uint32_t number, Upward& up) {
  Process& process = at(number);
  const ProcessExited event = *std::exchange(process.exit, std::nullopt);
  --waiting_exits_;
  process.report_by = kNever;
  flush(number, wire::Tail::ended, up);
  report_exit(number, event, up);
}

void HostProcesses::on(const OutputDrained& event, Instant, Actions&, Upward& up) {
  flush(event.process, wire::Tail::prompt, up);
  at(event.process).copied = event.copied;
  at(event.process).on_terminal = event.on_terminal;
  look_at_pipes_ = true;
}

void HostProcesses::on(const ClientOpened& event, Instant now, Actions& out, Upward& up) {
  ClientOutputs outputs;
  server(event.kind).opened(event.client, now, outputs);
  apply(event.kind, outputs, now, out, up);
}

void HostProcesses::on(const ClientBytes& event, Instant now, Actions& out, Upward& up) {
  if (abilities(server(event.kind).program()).counts_pes) heard_by_ = kNever;
  ClientOutputs outputs;
  server(event.kind).received(event.client, event.bytes, now, outputs);
  apply(event.kind, outputs, now, out, up);
}

void HostProcesses::on(const ClientClosed& event, Instant now, Actions& out, Upward& up) {
  ClientOutputs outputs;
  server(event.kind).closed(event.client, now, outputs);
  apply(event.kind, outputs, now, out, up);
}

void HostProcesses::apply(const Registered& output, ClientKind kind, Instant now, Actions& out, Upward& up) {
  Process& process = at(output.process);
  if (process.kind) return;
  process.kind = kind;
  const Abilities& its = abilities_of(process);
  if (!can(server(kind).program(), job_->on_failure))
    return apply(Refused{output.process, kCharmCannotGoOn}, up);
  if (!its.shows_life && job_->silence.kills) return apply(Refused{output.process, kSaysNothing}, up);
  if (forking_ && output.process == local_.first)
    fork_others(kind, now, out, up);
  else if (forking_)
    adopt(output, kind, out);
  if (!process.awaited) process.tuple = output.tuple;
  if (process.awaited || regrouping_ || !local_.is_first(output.process)) {
    up.messages.emplace_back(
        wire::Rejoined{output.process, output.tuple.port, host_.address, output.tuple.data});
    return;
  }
  ++up.facts.registered;
  if (++registered_ < local_.count) return;
  const bool alike = forking_ && job_->hosts == 1;
  if (host_.random_layout && !alike && its.moves_threads) up.facts.random_layout.push_back(self_.index);
  tell_tuples(now, up);
}

void HostProcesses::tell_tuples(Instant now, Upward& up) {
  registered_at_ = now;
  wire::TupleBlock block{self_.index, local_.first, host_.address, {}};
  for (std::uint32_t rank = 0; rank < local_.count; ++rank)
    block.tuples.push_back(std::move(processes_[rank].tuple));
  up.facts.blocks.push_back(std::move(block));
}

/// The first process is no Charm++ client after all: the others are started like it.
void HostProcesses::fork_others(ClientKind kind, Instant now, Actions& out, Upward& up) {
  ClientOutputs outputs;
  forking_ = server(kind).fork(local_.first, local_.count - 1, outputs);
  apply(kind, outputs, now, out, up);
  up.messages.push_back(wire::Note{
      self_.index, forking_ ? fmt::format("process {} forks processes {} to {}", local_.first,
                                          local_.first + 1, local_.first + local_.count - 1)
                            : "its processes are started one by one, its program cannot fork them"});
}

void HostProcesses::adopt(const Registered& output, ClientKind kind, Actions& out) {
  at(output.process).state = Process::State::starting;
  ++alive_;
  out.push_back(Adopt{output.process, local_.first, kind, output.client});
}

void HostProcesses::apply(const Refused& output, Upward& up) {
  Process& process = at(output.process);
  if (std::exchange(process.exited, true)) return;
  up.facts.exits.push_back({.process = output.process, .refused = true, .text = output.why});
}

void HostProcesses::apply(const BarrierEntered& entered, Upward& up) {
  if (at(entered.process).exited) return;  // whoever holds its connection is not the process
  up.facts.epoch = epoch_;
  ++up.facts.barrier[static_cast<std::size_t>(entered.kind)];
  at(entered.process).entered[static_cast<std::size_t>(entered.kind)] = true;
}

void HostProcesses::apply(const Printed& output, ClientKind kind, Instant now, Upward& up) {
  Process& process = at(output.process);
  const bool shown = process.on_terminal[output.stream == Stream::out ? 0 : 1];
  process.lines.append(output.stream, shown ? std::string_view{} : output.text, output.wants_receipt, now,
                       {*job_, output.process, up.messages});
  if (output.stream == Stream::err) process.last_words.append(output.text);
  if (abilities(server(kind).program()).counts_pes) check_build(output, up);
  if (process.exit) process.report_by = now + kLastWords;
}

void HostProcesses::apply(const Ended& output, ClientKind kind, Upward& up) {
  at(output.process).ended = true;
  flush(output.process, wire::Tail::prompt, up);
  if (abilities(server(kind).program()).exit_decides) {  // and what it said counts
    at(output.process).code = output.code;
    return;
  }
  ++up.facts.ended;
  tell_who_ended({output.process, output.process}, up);
  if (output.code != 0 && !up.facts.code) up.facts.code = wire::Code{output.process, output.code};
}

void HostProcesses::apply(Aborted& output, Upward& up) {
  flush(output.process, wire::Tail::ended, up);
  at(output.process).exited = true;  // the abort is its end
  if (ending_) return;               // what is asked to end may do it so
  up.messages.push_back(
      wire::AbortUp{output.process, output.code, std::move(output.text), take_last_words(output.process)});
}

void HostProcesses::apply(ClientLost& output, Instant now) {
  Process& process = at(output.process);
  process.explain_by = now + kExplain;
  process.why = std::move(output.why);
  process.lost = true;
}

void HostProcesses::apply(ClientKind kind, ClientOutputs& outputs, Instant now, Actions& out, Upward& up) {
  const Overloaded act{
      [&](ToClient& o) {
        out.push_back(ClientSend{kind, o.client, std::move(o.bytes), std::move(o.tail)});
      },
      [&](CloseClient& o) {
        out.push_back(ClientClose{kind, o.client});
      },
      [&](Registered& o) { apply(o, kind, now, out, up); },
      [&](Refused& o) { apply(o, up); },
      [&](BarrierEntered& o) { apply(o, up); },
      [&](CrashAcked&) {
        up.facts.epoch = epoch_;
        ++up.facts.crash_acks;
      },
      [&](Printed& o) { apply(o, kind, now, up); },
      [&](ScanRequested& o) {
        flush(o.process, wire::Tail::prompt, up);  // a prompt belongs before the wait for its answer
        up.messages.push_back(wire::ScanUp{o.process, std::move(o.format)});
      },
      [&](Ended& o) { apply(o, kind, up); },
      [&](Aborted& o) { apply(o, up); },
      [&](ClientLost& o) { apply(o, now); },
      [&](RequestAnswered& o) { apply(o, up); },
      // What it wrote before is no copy.
      [&](TableDelivered& o) {
        out.push_back(DrainOutput{name_of(o.process), o.client});
      },
      [&](ResizeAsked& o) {
        up.messages.emplace_back(wire::PesWanted{o.process, o.pes});
      },
      [&](QueuePairsGiven& o) { apply(o, now, out, up); },
      [&](Unheard& o) {
        out.push_back(LookAtClient{name_of(o.process), o.client});
      },
      [&](wire::Silence& o) { apply(o, out, up); },
      [&](ClientNote& o) {
        up.messages.push_back(wire::Note{self_.index, std::move(o.text)});
      },
  };
  for (ClientOutput& output : outputs) std::visit(act, output);
  outputs.clear();
  for (std::uint32_t i = 0; i < local_.size() && waiting_exits_ > 0; ++i) {
    if (processes_[i].exit && !must_be_heard(processes_[i])) report_waiting_exit(local_.at(i), up);
  }
}

/// A client of another build than SMP hangs when its table gives it several PEs: without a word, or after
/// some barriers and this line.
void HostProcesses::await_first_words(Instant now) {
  const bool any = std::any_of(processes_.begin(), processes_.end(),
                               [&](const Process& each) { return abilities_of(each).counts_pes; });
  if (any && job_->pes_per_process > 1 && !ending_) heard_by_ = now + job_->timeout;
}

void HostProcesses::give_up(std::uint32_t process, const std::string& why, Upward& up) {
  up.messages.push_back(wire::AbortUp{
      process, kLauncherFailed,
      fmt::format(
          "{} a node table that gives each process {} PEs; leave out ++ppn and ++smp if this is no SMP "
          "build of Charm++",
          why, job_->pes_per_process)});
}

void HostProcesses::check_build(const Printed& output, Upward& up) {
  if (job_->pes_per_process <= 1 || ending_) return;
  if (output.text.find("Charm++> Running in non-SMP mode") == std::string::npos) return;
  give_up(output.process, "it runs in non-SMP mode with", up);
}

void HostProcesses::tick(Instant now, Actions& out, Upward& up) {
  if (now >= heard_by_) {
    heard_by_ = kNever;
    give_up(local_.first, fmt::format("no sign of life within {:g} s of", seconds(job_->timeout)), up);
  }
  for (std::size_t kind = 0; kind < kClientKinds; ++kind) {
    if (servers_[kind]->next_deadline() > now) continue;
    ClientOutputs outputs;
    servers_[kind]->tick(now, outputs);
    apply(static_cast<ClientKind>(kind), outputs, now, out, up);
  }
  for (std::uint32_t i = 0; i < local_.size(); ++i) {
    Process& process = processes_[i];
    process.lines.tick(now, {*job_, local_.at(i), up.messages});
    if (process.report_by <= now) report_waiting_exit(local_.at(i), up);
    if (process.explain_by > now) continue;
    process.explain_by = kNever;
    if (process.exited || ending_) continue;
    process.exited = true;
    wire::ProcessExit exit = exit_of(local_.at(i));
    exit.lost_connection = true;
    exit.text = process.why;
    explain_kill(process, exit);
    exit.last_words = take_last_words(local_.at(i));
    up.facts.exits.push_back(std::move(exit));
  }
}

Instant HostProcesses::next_deadline() const {
  Instant deadline = heard_by_;
  for (const auto& each : servers_) deadline = earlier(deadline, each->next_deadline());
  for (const Process& process : processes_) {
    deadline = earlier(deadline, earlier(process.explain_by, process.report_by));
    deadline = earlier(deadline, process.lines.next_deadline());
  }
  return deadline;
}

void HostProcesses::table(const wire::Blob& coded, Instant now, Actions& out, Upward& up) {
  table_ = coded;
  ask_each([&](ClientServer& each, ClientOutputs& outputs) { each.table(coded, outputs); }, now, out, up);
  await_first_words(now);
}

void HostProcesses::release(BarrierKind barrier, Instant now, Actions& out, Upward& up) {
  for (Process& process : processes_) process.entered[static_cast<std::size_t>(barrier)] = false;
  ask_each([&](ClientServer& each, ClientOutputs& outputs) { each.release(barrier, outputs); }, now, out, up);
}

void HostProcesses::printed(std::uint32_t process, Instant now, Actions& out, Upward& up) {
  if (!local_.contains(process) || !at(process).kind) return;
  ClientOutputs outputs;
  server(*at(process).kind).printed(process, outputs);
  apply(*at(process).kind, outputs, now, out, up);
}

void HostProcesses::scanned(std::uint32_t process, std::string_view input, Instant now, Actions& out,
                            Upward& up) {
  if (!local_.contains(process) || !at(process).kind) return;
  ClientOutputs outputs;
  server(*at(process).kind).scanned(process, input, outputs);
  apply(*at(process).kind, outputs, now, out, up);
}

void HostProcesses::wait_no_longer(bool by_new_root, Instant now, Actions& out, Upward& up) {
  for (const std::uint32_t process : living()) {
    printed(process, now, out, up);
    if (by_new_root) scanned(process, {}, now, out, up);
  }
}

void HostProcesses::finish(int signal, Instant now, Actions& out, Upward& up) {
  ending_ = true;
  heard_by_ = kNever;
  for (const std::uint32_t process : living()) {
    if (signal != 0 && !abilities_of(at(process)).is_let_go) out.push_back(Signal{name_of(process), signal});
  }
  ask_each([](ClientServer& each, ClientOutputs& outputs) { each.finish(outputs); }, now, out, up);
}

std::vector<std::uint32_t> HostProcesses::living() const {
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < local_.size(); ++i) {
    const auto state = processes_[i].state;
    if (state == Process::State::starting || state == Process::State::running)
      numbers.push_back(local_.at(i));
  }
  return numbers;
}

void HostProcesses::signal(int signal, Actions& out) const {
  for (const std::uint32_t process : living()) out.push_back(Signal{name_of(process), signal});
}

}  // namespace charmtree::proto
