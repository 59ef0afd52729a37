// SPDX-License-Identifier: Apache-2.0
#include "charmrun/node/root_desk.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tree/base/overloaded.hpp"
#include "tree/proto/provision.hpp"
#include "tree/wire/fold.hpp"
#include "tree/wire/job_limits.hpp"
#include "tree/wire/message_rows.hpp"

namespace charmtree {

using namespace proto;

RootDesk::RootDesk(RootPlan plan) : RootDesk(plan, std::make_shared<wire::JobSpec>(plan.job)) {
  if (!plan.restart) return;
  restart_budget_.emplace(plan.restart->most, kFirstPause);
  first_plan_ = std::make_shared<RootPlan>(std::move(plan));
}

RootDesk::RootDesk(RootPlan plan, std::shared_ptr<wire::JobSpec> job)
    : job_(std::move(job)),
      coded_job_(wire::encode(*job_)),
      hosts_(std::move(plan.hosts)),
      judge_(*job_, hosts_, plan.bad_exit),
      time_limit_(plan.time_limit),
      int_ends_(plan.int_ends),
      key_names_(std::move(plan.key_names)),
      tells_progress_(plan.tells_progress),
      shows_output_(plan.shows_output),
      could_drop_(plan.could_drop),
      input_(job_) {
  if (job_->restarts_in_place && !job_->restarts_processes) {
    process_restarts_.emplace(plan.restart ? plan.restart->most : UINT32_MAX, job_->timeout);
    const bool waits = !plan.restart || !plan.restart->fast_failover;
    relocation_.emplace(waits ? orphan_bound() : Duration{0});
  }
  if (plan.ccs) ccs_.emplace(std::move(*plan.ccs));
  if (job_->provision.by_topology()) topologies_.resize(hosts_.size());
  if (plan.takes_over) {
    judge_.take_over();
    announced_ = true;
    input_.end();
    return;
  }
  if (!job_->is_numbered_late()) return;
  for (Host& host : hosts_) {
    if (host.processes > 0) wanted_.push_back(host.processes);
    host.first_process = host.processes = 0;
  }
}

void RootDesk::begin(Instant now) {
  begun_at_ = now;
  judge_.begin(now);
  if (const auto fits = wire::check_job(*job_, coded_job_->size()); !fits) judge_.refuse(fits.error());
  if (!job_->is_numbered_late()) check_input();
  if (time_limit_ > Duration{0}) limit_at_ = now + time_limit_;
  if (!job_->checkup) late_at_ = now + kLateAfter;
}

/// Until the program can run: what fails after that is no part of the start-up.
bool RootDesk::starting() const {
  return !judge_.verdict() && !announced_ && (!judge_.all_up() || registering_);
}

void RootDesk::facts(wire::Facts facts, Instant now) {
  failures_.insert(failures_.end(), facts.hosts_failed.begin(), facts.hosts_failed.end());
  for (const wire::HostFailure& failure : facts.hosts_failed) absent_.insert(failure.host);
  random_layout_.insert(facts.random_layout.begin(), facts.random_layout.end());
  blind_.insert(facts.blind.begin(), facts.blind.end());
  registering_ = registering_ || facts.registered > 0;
  if (tells_progress_) note_progress(facts);
  if (crash_sequence_) crash_sequence_->acked(facts.epoch, facts.crash_acks, now);
  for (const wire::HostTopology& told : facts.topologies) {
    for (std::uint32_t i = 0; i < told.hosts; ++i) topologies_.at(told.first_host + i) = told.topology;
  }
  for (const wire::ProcessExit& exit : facts.exits) silences_.gone({exit.process, exit.process});
  judge_.on(std::move(facts), now);
}

void RootDesk::stalled(bool stalled, Instant now) {
  judge_.stalled(stalled, now);
  if (crash_sequence_) crash_sequence_->stalled(stalled, now);
  if (process_restarts_) process_restarts_->stalled(stalled, now);
}

Instant RootDesk::next_deadline() const {
  Instant deadline = earlier(earlier(judge_.next_deadline(), limit_at_), earlier(restart_at_, late_at_));
  deadline = earlier(deadline, silences_.next_deadline());
  if (resizing_ && !judge_.verdict()) deadline = earlier(deadline, resizing_->deadline());
  if (crash_sequence_ && !judge_.verdict()) deadline = earlier(deadline, crash_sequence_->next_deadline());
  if (process_restarts_ && !judge_.verdict())
    deadline = earlier(deadline, earlier(process_restarts_->next_deadline(), relocation_->next_deadline()));
  if (ccs_) deadline = earlier(deadline, ccs_->next_deadline());
  return deadline;
}

void RootDesk::output(wire::Output output, Actions& out) {
  if (ccs_) ccs_->printed(output.text, out);
  if (shows_output_) shown_lately_.show(output);
  const std::string host = output.process < job_->processes ? judge_.host_of(output.process).name : "";
  out.push_back(Show{std::move(output), host, job_->processes, job_->passes_raw()});
}

void RootDesk::message(const wire::Message& message, Instant now, Actions& out, DeskOrders& orders) {
  if (tells_progress_) note_progress(message);
  const Overloaded act{
      [&](const wire::AbortUp& m) { judge_.on(m); },
      [&](const wire::LinkLost& m) { link_lost(m, now, out, orders); },
      [&](const wire::Fenced& m) {
        if (relocation_) relocation_->fenced(m.host);
      },
      [&](const wire::Reached& m) { repaired(m, now, out, orders); },
      [&](const wire::NewHostKey& m) { new_host_key(m, out); },
      [&](const wire::Note& m) {
        const std::string who = m.host < hosts_.size() ? hosts_[m.host].name : "a launcher";
        out.push_back(Say{m.for_everybody ? Tone::info : Tone::verbose, who + ": " + m.text});
      },
      [&](const wire::InputTaken& m) { input_.on(m); },
      [&](const wire::InputReturned& m) { input_.on(m, out); },
      [&](const wire::Stamps& m) { out.push_back(Record{m}); },
      [&](const wire::Checkup& m) { out.push_back(Examined{m}); },
      [&](const wire::Rejoined& m) { process_restarts_ ? rejoined(m, now) : rejoined_.push_back(m); },
      [&](const wire::CcsAnswer& m) {
        if (ccs_ && !ccs_->on(m, now, out, orders.process)) orders.liar = m.process;
      },
      [&](const wire::Bindings& m) { bindings_.push_back(m); },
      [&](const wire::Silence& m) { silence(m, now); },
      [&](const wire::Left& m) { left_.push_back(m.process); },
      [&](const wire::PesWanted& m) {
        if (job_->resizes && !resizing_ && !reading_hosts_) wanted_pes_ = m.pes;
      },
      [&](const wire::ScanUp& m) { input_.on(m, out, orders.of_input()); },
      []<class M>(const M&) requires(!wire::ForRoot<M>){},
  };
  std::visit(act, static_cast<const wire::AnyMessage&>(message));
}

void RootDesk::link_lost(const wire::LinkLost& lost, Instant now, Actions& out, DeskOrders& orders) {
  if (starting() && lost_at_start_.insert(lost.host).second) failures_.push_back({lost.host, lost.error});
  lost_launchers_ = lost_launchers_ || !lost.lives;
  for (const wire::ProcessSet::Range& range : lost.processes) silences_.gone(range);
  if (judge_.awaits_output())
    lose_output(lost, out);
  else if (!relocate(lost, now, out, orders))
    judge_.on(lost);
}

void RootDesk::new_host_key(const wire::NewHostKey& message, Actions& out) {
  if (message.host >= hosts_.size()) return;
  const Host& host = hosts_[message.host];
  const auto is_new = new_host_keys_.judge(host, job_->profiles[host.profile], message.key);
  if (!is_new)
    out.push_back(Say{Tone::info, fmt::format("{}: a host key that was reported for it is not added: {}",
                                              host.name, to_string(is_new.error()))});
  else if (*is_new)
    out.push_back(StoreHostKey{message.host, message.key});
}

void RootDesk::check_input() {
  if (job_->input_process == wire::kNoProcess || job_->input_process < job_->processes) return;
  judge_.refuse({Errc::bad_input, Phase::options,
                 fmt::format("there is no process {} for the input: the job has {}", job_->input_process,
                             job_->processes),
                 "++stdin takes a process number, from 0, or all or none"});
}

/// The hosts that run something, in order, with what each was to run. drop: each living host; spare, abort:
/// the first living hosts take all places. Nobody, if there are too few.
std::vector<Host*> RootDesk::take_places() {
  const bool drop = job_->launch.on_failure == wire::OnHostFailure::drop;
  const std::set<std::uint32_t> failed = judge_.failed_hosts();
  std::vector<Host*> taken;
  std::size_t place = 0, living = 0;
  for (Host& host : hosts_) {
    const bool lives = !failed.contains(host.index);
    living += lives ? 1 : 0;
    if (drop && !lives) ++place;
    if (!lives || place >= wanted_.size()) continue;
    host.processes = wanted_[place++];
    taken.push_back(&host);
  }
  const bool narrow = first_plan_ && first_plan_->restart->may_narrow;
  if (!taken.empty() && (place >= wanted_.size() || narrow)) return taken;
  judge_.too_few(fmt::format("{} of {} hosts are left, the job needs {}{}", living, hosts_.size(),
                             drop ? 1 : wanted_.size(),
                             drop || job_->session ? ""
                             : first_plan_         ? "; see ++spare-hosts and ++shrink-ok"
                                                   : "; see ++spare-hosts"));
  return {};
}

/// The tree of a session, before there is anything to run.
void RootDesk::take_stock(Instant now, Actions& out) {
  const std::size_t failed = judge_.failed_hosts().size();
  if (failed == hosts_.size()) return judge_.too_few("no host is left for the session");
  for (const std::string& line : judge_.numbered(now)) out.push_back(Say{Tone::info, "left out: " + line});
  judge_.nothing_to_run();
}

/// Numbers have no gaps. Where they do not depend on the hosts, these have them already.
void RootDesk::number(Instant now, Actions& out, DeskOrders& orders) {
  orders.start = !job_->is_numbered_late();
  if (orders.start) return void(judge_.numbered(now));
  if (wanted_.empty()) return take_stock(now, out);
  const std::vector<Host*> taken = take_places();
  if (taken.empty()) return;
  std::vector<ProvisionSite> sites;
  sites.reserve(taken.size());
  for (const Host* host : taken)
    sites.push_back(
        {host->name, topologies_.empty() ? Topology{} : topologies_[host->index], host->processes});
  const auto provisioned = provision(job_->provision, job_->pes_per_process, sites);
  if (!provisioned) return judge_.refuse(provisioned.error());
  for (Host& host : hosts_) host.processes = 0;
  for (std::size_t i = 0; i < taken.size(); ++i) taken[i]->processes = provisioned->processes[i];
  const std::uint32_t before = std::exchange(job_->processes, number_processes(hosts_));
  check_input();
  for (const Host* host : taken)
    orders.numbers.push_back({host->index, host->first_process, host->processes});
  job_->pes_per_process = provisioned->pes_per_process;
  say_numbers(now, taken.size(), before, out);
}

void RootDesk::say_numbers(Instant now, std::size_t hosts, std::uint32_t before, Actions& out) {
  const std::vector<std::string> lines = judge_.numbered(now);
  for (const std::string& line : lines) out.push_back(Say{Tone::info, "left out: " + line});
  const bool counted = job_->provision.process_unit > CpuUnit::host;
  const std::string of = counted ? "" : fmt::format(" of {}", before);
  if (!lines.empty()) {
    out.push_back(Say{Tone::info, fmt::format("the job runs on {} hosts, with {}{} processes", hosts,
                                              job_->processes, of)});
  }
  if (job_->provision.by_topology()) {
    out.push_back(
        Say{Tone::verbose, fmt::format("by the hosts' processors: {} processes on {} hosts, PEs in each: {}",
                                       job_->processes, hosts, job_->pes_per_process)});
  }
}

/// Once everybody has told: a launcher says it before it starts its processes.
void RootDesk::show_bindings(Actions& out) {
  if (bindings_.empty() || !judge_.all_up()) return;
  std::sort(bindings_.begin(), bindings_.end(), [](const auto& a, const auto& b) { return a.host < b.host; });
  for (std::string& line : describe(bindings_, hosts_)) out.push_back(Say{Tone::info, std::move(line)});
  bindings_.clear();
}

/// The line by which tools of Charm++ know that its programs run, on their stdout. That of others is theirs.
void RootDesk::announce(Instant now, Actions& out) {
  announced_ = true;
  const double took = seconds(now - begun_at_);
  if (!has_charm_table_)
    out.push_back(
        Say{Tone::verbose, fmt::format("all processes have registered, {:.3f} s from the start", took)});
  else
    out.push_back(
        Say{Tone::info, fmt::format("Charmrun> started all node programs in {:.3f} seconds.", took)});
  if (random_layout_.empty() || job_->processes == 1) return;
  out.push_back(
      Say{Tone::info,
          fmt::format(
              "{}: warning: the kernel refuses to turn address randomisation off (is it a container?), so "
              "that processes have different address layouts; threads that migrate between them may crash",
              names({random_layout_.begin(), random_layout_.end()}))});
}

/// Who is alone has just said them.
void RootDesk::say_last_words(const Ending& why, Actions& out) const {
  if (why.last_words.empty() || job_->processes == 1) return;
  if (shown_lately_.has(*why.process, why.last_words)) return;
  out.push_back(Say{Tone::info, fmt::format("process {} last wrote on stderr:", *why.process)});
  for (const std::string& line : why.last_words) out.push_back(Say{Tone::info, "  | " + line});
}

std::string RootDesk::names(const std::vector<std::uint32_t>& hosts) const {
  std::vector<std::string> names;
  for (const std::uint32_t host : hosts) {
    if (host < hosts_.size()) names.push_back(hosts_[host].name);
  }
  return wire::fold_names(names);
}

void RootDesk::on(const ClientOpened& event, Instant now, Actions& out, DeskOrders&) {
  if (ccs_) ccs_->on(event, now, out);
}

void RootDesk::on(const ClientBytes& event, Instant now, Actions& out, DeskOrders& orders) {
  if (ccs_) ccs_->on(event, now, out, orders.process);
}

void RootDesk::on(const ClientClosed& event, Instant now, Actions& out, DeskOrders&) {
  if (ccs_) ccs_->on(event, now, out);
}

void RootDesk::turn(Instant now, Actions& out, DeskOrders& orders) {
  if (now >= limit_at_) {
    limit_at_ = kNever;
    cancel_restart();
    judge_.time_limit_reached();
  }
  if (ccs_) ccs_->tick(now, out, orders.process);
  for (wire::HostFailure& silent : judge_.tick(now)) failures_.push_back(std::move(silent));
  tell_late(now, out);
  if (judge_.wants_numbers()) number(now, out, orders);
  show_bindings(out);
  for (wire::HostFailure& failure : failures_) {
    out.push_back(Record{wire::Stamps{failure.host}, std::move(failure.error), now});
  }
  failures_.clear();
  deliver_table(now, out, orders);
  resize(now, out, orders);
  restart_processes(now, out, orders);
  go_on(now, out, orders);
  const bool somebody_is_lost = process_restarts_ && process_restarts_->in_progress();
  for (const BarrierKind kind : {BarrierKind::all, BarrierKind::root, BarrierKind::leave}) {
    if (!somebody_is_lost && judge_.take_release(kind))
      orders.everyone.push_back(wire::Release{static_cast<std::uint8_t>(kind)});
  }
  tell_silences(now, out);
  tell_progress(out);
  input_.turn(has_reader(), judge_.verdict().has_value(), out, orders.of_input());
  if (judge_.verdict()) tell_verdict(now, out, orders);
  if (now >= restart_at_) relaunch(out, orders);
  suspend(orders);
}

/// Its processes had ended, but its launcher says last that all they have printed is on its way.
void RootDesk::lose_output(const wire::LinkLost& lost, Actions& out) {
  if (lost.processes.empty() || lost.host >= hosts_.size()) return;
  const std::string how = to_string(lost.error);
  out.push_back(Say{Tone::error, fmt::format("{}: {}; its processes had ended, but of what they have printed "
                                             "the rest may be missing",
                                             hosts_[lost.host].name, how)});
  judge_.lose_output(lost.host, how);
}

/// What a request did to the process, its handler may have said nowhere.
void RootDesk::end_ccs(const Ending& why, Actions& out) {
  if (!ccs_) return;
  if (why.process && why.cause != Cause::finished) {
    for (const std::string& line : ccs_->unanswered(*why.process))
      out.push_back(Say{Tone::error, fmt::format("process {} {}", *why.process, line)});
  }
  ccs_->finish(out);
}

void RootDesk::tell_verdict(Instant now, Actions& out, DeskOrders& orders) {
  const Verdict& verdict = *judge_.verdict();
  const bool kill = verdict.end.mode == wire::EndMode::kill;
  if (!told_verdict_) {
    const Tone tone = verdict.why.cause == Cause::user_signal ? Tone::info : Tone::error;
    for (const std::string& line : verdict.lines) out.push_back(Say{tone, line});
    say_last_words(verdict.why, out);
    end_ccs(verdict.why, out);
    silent_at_end_ = silences_.silent();
    consider_restart(now, out);
    if (!restarting_) limit_at_ = kNever;
    if (job_->terminal) out.push_back(ReleaseKeys{});
  }
  if (!told_verdict_ || (kill && !told_kill_)) {
    orders.end = verdict.end;
    orders.end->stay = restarting_ || stays();
  }
  told_verdict_ = true;
  told_kill_ = told_kill_ || kill;
}

}  // namespace charmtree
