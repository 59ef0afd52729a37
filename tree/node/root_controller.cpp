// SPDX-License-Identifier: Apache-2.0
// What the controller is told, part by part.
#include "tree/node/root_controller.hpp"
#include "tree/clients/pmix/pmix_variables.hpp"

#include <fmt/format.h>

#include <cstring>

#include "tree/base/overloaded.hpp"
#include "tree/turn/job_status.hpp"
#include "tree/wire/handle.hpp"
#include "tree/wire/job_limits.hpp"

namespace charmtree {

using namespace proto;
using stacks::StacksFor;

namespace {

Numbering::Narrow narrow(const RootPlan& plan) {
  using Narrow = Numbering::Narrow;
  if (!plan.restart) return Narrow::no;
  return plan.restart->may_narrow ? Narrow::yes : Narrow::if_asked;
}

/// Where that shows already.
std::shared_ptr<wire::JobSpec> with_layout(std::shared_ptr<wire::JobSpec> job,
                                           const std::vector<Host>& hosts) {
  wire::MpiService& mpi = job->spawn.mpi;
  mpi.layout.clear();
  mpi.names.clear();
  for (const Host& host : hosts) {
    if (!job->is_numbered_late()) wire::append(mpi.layout, host.index, host.processes);
    if (mpi.pmix != wire::MpiService::Pmix::none && !starts_on_demand(mpi)) mpi.names.push_back(host.name);
  }
  return job;
}

}  // namespace

RootController::RootController(RootPlan plan)
    : RootController(plan, std::make_shared<wire::JobSpec>(plan.job)) {
  if (!plan.restart) return;
  restart_.emplace(ProgramRestart::Rules{plan.restart->most, plan.restart->fast_failover});
  first_plan_ = std::make_shared<RootPlan>(std::move(plan));
}

RootController::RootController(RootPlan plan, std::shared_ptr<wire::JobSpec> job)
    : job_(with_layout(std::move(job), plan.hosts)),
      coded_job_(wire::encode(*job_)),
      hosts_(std::move(plan.hosts)),
      judge_(*job_, hosts_, plan.bad_exit),
      numbering_(job_, hosts_, narrow(plan)),
      start_(job_, hosts_, plan.could_drop),
      silences_(job_, hosts_),
      shown_lately_(plan.shows_output),
      signals_(plan.int_ends),
      kvs_{{}, {job_, hosts_}},
      services_(job_),
      orphan_bound_(job_->heartbeat),
      resizing_(job_, hosts_),
      time_limit_(plan.time_limit) {
  if (plan.tells_progress) progress_.emplace();
  if (plan.ccs) ccs_.emplace(std::move(*plan.ccs));
  if (job_->loss.recovery == wire::Recovery::in_place) {
    const bool waits = !plan.restart || !plan.restart->fast_failover;
    in_place_.emplace(job_, hosts_,
                      RestartsInPlace::Rules{plan.restart ? plan.restart->most : UINT32_MAX,
                                             waits ? orphan_bound_.time() : Duration{0}});
  }
  if (plan.takes_over) {
    judge_.take_over();
    start_.announce_nothing();
    input().end();
  } else if (job_->is_numbered_late()) {
    numbering_.put_off();
  }
}

void RootController::begin(Instant now) {
  start_.begin(now);
  judge_.begin(now, start_.absent());
  if (const auto fits = wire::check_job(*job_, coded_job_->size()); !fits) judge_.refuse(fits.error());
  if (!job_->is_numbered_late()) numbering_.check_input(judge_);
  time_limit_.begin(now);
}

void RootController::resume(const InheritedState& inherited, Instant now, Actions& out, RootOrders& orders) {
  judge_.resume(inherited);
  start_.resume(inherited.has_table);
  out.push_back(
      Say{Tone::info, fmt::format("this is the root of job {} from now on: {} processes on {} hosts",
                                  job_->id, job_->processes, hosts_.size())});
  Turn turn{*this, now, out, orders};
  input().resume(turn);
}

void RootController::facts(wire::Facts facts, Instant now) {
  start_.on(facts);
  orphan_bound_.blind(facts.blind);
  if (progress_) progress_->on(facts, judge_.launch().has_numbers());
  crashes_.acked(facts.epoch, facts.crash_acks, now);
  for (const wire::HostTopology& told : facts.topologies) numbering_.on(told);
  for (const wire::ProcessExit& exit : facts.exits) silences_.gone({exit.process, exit.process});
  judge_.on(std::move(facts), now);
}

void RootController::output(wire::Output output, Actions& out) {
  if (ccs_) ccs_->printed(output.text, out);
  shown_lately_.show(output);
  const std::string host =
      output.process < job_->processes ? judge_.places().host_of(output.process).name : "";
  out.push_back(Show{std::move(output), host, job_->processes, job_->passes_raw()});
}

void RootController::on(const Event& event, bool output_stalls, Instant now, Actions& out,
                        RootOrders& orders) {
  Turn turn{*this, now, out, orders};
  services_.on(event, turn);
  stalled(output_stalls, now);
}

void RootController::message(const wire::Message& message, Instant now, Actions& out, RootOrders& orders) {
  Turn turn{*this, now, out, orders};
  if (services_.up(message, turn)) return;
  wire::handle_each<wire::CoreMessages, wire::Route::to_root>(
      message,
      [&](const wire::AbortUp& m) {
        if (progress_) progress_->on(m);
        judge_.on(m);
      },
      [&](const wire::LinkLost& m) { link_lost(m, now, out, orders); },
      [&](const wire::Fenced& m) {
        if (in_place_) in_place_->on(m);
      },
      [&](const wire::Reached& m) { repaired(m, now, out, orders); },
      [&](const wire::NewHostKey& m) { new_host_keys_.on(m, *job_, hosts_, out); },
      [&](const wire::Note& m) {
        const std::string who = m.host < hosts_.size() ? hosts_[m.host].name : "a launcher";
        out.push_back(Say{m.for_everybody ? Tone::info : Tone::verbose, who + ": " + m.text});
      },
      [&](const wire::Stamps& m) { out.push_back(Record{m}); },
      [&](const wire::Checkup& m) { out.push_back(Examined{m}); },
      [&](const wire::Rejoined& m) {
        if (progress_) progress_->on(m);
        if (in_place_)
          in_place_->on(m, judge_, now);
        else if (resizing_.is_regrouping())
          resizing_.on(m);
        else
          crashes_.on(m, now);
      },
      [&](const wire::CcsAnswer& m) {
        if (ccs_ && !ccs_->on(m, now, out, orders.process))
          turn.give_up_launcher_of(
              m.process,
              Error{Errc::bad_peer, Phase::run, "its launcher answered CCS requests that it was not asked"});
      },
      [&](const wire::Inquiry& m) { Inquiries::on(m, orders.process); },
      [&](const wire::InquiryReply& m) { Inquiries::on(m, orders.process); },
      [&](const wire::NameInquiry& m) {
        kvs_.inquiries.on(m, judge_.places().host_of(m.process).index, orders.process);
      },
      [&](const wire::WorldWanted& m) { kvs_.worlds.on(m, start_.absent(), turn); },
      [&](const wire::Bindings& m) { bindings_.on(m); },
      [&](const wire::Silence& m) {
        if (m.process >= job_->processes || judge_.verdict()) return;
        if (progress_) progress_->on(m);
        silences_.on(m, now);
      },
      [&](const wire::Left& m) { resizing_.on(m); }, [&](const wire::PesWanted& m) { resizing_.on(m); },
      [&](const wire::ScanUp& m) { input().scan(m, turn); });
}

namespace {

/// The processes of a host had ended, but its launcher says last that all they have printed is on its way.
void lose_output(const wire::LinkLost& lost, const std::vector<Host>& hosts, Judge& judge, Actions& out) {
  if (lost.processes.empty() || lost.host >= hosts.size()) return;
  const std::string how = to_string(lost.error);
  out.push_back(Say{Tone::error, fmt::format("{}: {}; its processes had ended, but of what they have printed "
                                             "the rest may be missing",
                                             hosts[lost.host].name, how)});
  judge.decision().lose_output(lost.host, how);
}

}  // namespace

void RootController::link_lost(const wire::LinkLost& lost, Instant now, Actions& out, RootOrders& orders) {
  if (progress_) progress_->on(lost);
  start_.on(lost, judge_);
  if (restart_ && !lost.lives) restart_->lost_launcher();
  for (const wire::ProcessSet::Range& range : lost.processes) silences_.gone(range);
  if (judge_.decision().awaits_output()) return lose_output(lost, hosts_, judge_, out);
  Turn turn{*this, now, out, orders};
  if (!in_place_ || !in_place_->on(lost, start_.absent(), orphan_bound_, turn)) judge_.on(lost);
}

/// What was on its way to or from these processes may be lost: requests get no answer.
void RootController::repaired(const wire::Reached& reached, Instant now, Actions& out, RootOrders& orders) {
  judge_.repaired();
  if (reached.host < hosts_.size())
    out.push_back(
        Say{Tone::info, hosts_[reached.host].name + ": its launcher, which was cut off, is reached again"});
  Turn turn{*this, now, out, orders};
  turn.tell(ProcessesReached{reached.processes});
}

void RootController::signal(int signal, Instant now, Actions& out, RootOrders& orders) {
  using Stage = UserSignals::Stage;
  const bool goes_on = UserSignals::ends(signal) && cancel_restart();
  const Stage stage = !judge_.launch().all_up()     ? Stage::starts
                      : goes_on || judge_.verdict() ? Stage::ends
                                                    : Stage::runs;
  const UserSignals::Meaning meaning = signals_.on(signal, stage, now);
  if (meaning.shows_status) {
    JobStatus status = judge_.status();
    status.moved = judge_.places().moved();
    for (std::string& line : status_lines(status, hosts_)) out.push_back(Say{Tone::info, std::move(line)});
  }
  if (meaning.shows_stacks) services_.of<stacks::StacksService>().ask({{StacksFor::Why::quit}});
  if (meaning.forward) orders.everyone.push_back(wire::ForwardSignal{static_cast<std::uint8_t>(signal)});
  if (meaning.too_early)
    out.push_back(
        Say{Tone::info, fmt::format("{}: not forwarded, the processes do not run yet", strsignal(signal))});
  for (unsigned i = 0; i < meaning.interrupts; ++i) judge_.decision().interrupted(signal);
}

void RootController::stalled(bool output, Instant now) {
  const bool is_inspected =
      services_.of<debug::DebugService>().is_open() || services_.of<debug::ToolService>().is_open();
  const bool stalled = output || is_inspected;
  if (judge_.launch().is_stalled() == stalled) return;
  judge_.stalled(stalled, now);
  crashes_.stalled(stalled, now);
  if (in_place_) in_place_->stalled(stalled, now);
}

void RootController::idle(const std::set<std::uint32_t>& unconfirmed,
                          const std::set<std::uint32_t>& unbounded, Instant now, Actions& out) {
  end_.await_run(!is_restarting() && stays());
  if (restart_) restart_->idle({unconfirmed, unbounded}, orphan_bound_, hosts_, now, out);
}

JobStatus RootController::status() const {
  JobStatus status = judge_.status();
  status.silent = silences_.count();
  status.moved = judge_.places().moved();
  return status;
}

}  // namespace charmtree
