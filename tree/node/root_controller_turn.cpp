// SPDX-License-Identifier: Apache-2.0
// What the controller does at the end of each turn, and how it becomes that of the next run of the program.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tree/base/overloaded.hpp"
#include "tree/node/root_controller.hpp"
#include "tree/wire/job_limits.hpp"

namespace charmtree {

using namespace proto;
using stacks::StacksFor;

void RootController::Turn::tell(const RootNews& news) {
  const Overloaded act{
      [&](const ProcessReplaced& replaced) {
        if (root_.ccs_) root_.ccs_->gone(replaced.process, now(), out_, orders_.process);
        root_.services_.notify(replaced, *this);
      },
      [&](const Regrouping&) {
        if (root_.ccs_) root_.ccs_->start({}, now(), out_, orders_.process);
      },
      [&](const ProcessesLost& lost) {
        if (root_.ccs_) root_.ccs_->lost(lost.processes, now(), out_, orders_.process);
        root_.services_.notify(lost, *this);
      },
      [&](const ProcessesReached& reached) {
        if (root_.ccs_) root_.ccs_->cut_off(reached.processes, now(), out_, orders_.process);
        root_.services_.notify(reached, *this);
      },
      [&](const Progress::ProcessRestart& restart) {
        if (root_.progress_) root_.progress_->on(restart);
      },
  };
  std::visit(act, news);
}

namespace {

/// Reports plain processes that have failed while the others continue.
void report_failures(Judge& judge, Instant now, Actions& out) {
  FailureNotices& notices = judge.exits().notices();
  if (judge.verdict() || now < notices.next_deadline()) return;
  const JobStatus status = judge.progress();
  if (auto line = notices.take(status.processes - std::min(status.processes, status.ended), now))
    out.push_back(Say{Tone::info, std::move(*line)});
}

}  // namespace

void RootController::turn(Instant now, Actions& out, RootOrders& orders) {
  Turn turn{*this, now, out, orders};
  if (time_limit_.is_reached(now)) {
    const bool runs = !cancel_restart() && judge_.launch().all_up();
    runs ? services_.of<stacks::StacksService>().ask({{StacksFor::Why::time_limit}})
         : judge_.decision().time_limit_reached();
  }
  if (services_.of<stacks::StacksService>().has_seen_last()) judge_.decision().time_limit_reached();
  if (ccs_) ccs_->tick(now, out, orders.process);
  start_.failed(judge_.tick(now));
  start_.tell_late(judge_, now, out);
  start_.tell_init(judge_, now, out);
  if (judge_.wants_numbers()) number(turn, orders);
  kvs_.worlds.after_event(start_.absent(), turn);
  bindings_.turn(judge_.launch().all_up(), hosts_, out);
  start_.record(now, out);
  if (start_.tell_processes(judge_.launch(), out) && job_->spawn.held) signals_.suspend();
  deliver_table(turn, out, orders);
  resize(turn, orders);
  recover(turn, orders);
  go_on(turn, orders);
  report_failures(judge_, now, out);
  const bool somebody_is_lost = in_place_ && in_place_->in_progress();
  for (const BarrierKind kind : {BarrierKind::all, BarrierKind::root, BarrierKind::leave}) {
    if (!somebody_is_lost && judge_.take_release(kind))
      orders.everyone.push_back(wire::Release{static_cast<std::uint8_t>(kind)});
  }
  if (silences_.turn(judge_, now, out)) services_.of<stacks::StacksService>().ask({{StacksFor::Why::hang}});
  services_.turn(turn);
  std::vector<Progress::Failure> failures = judge_.exits().take_failures();
  if (progress_) {
    JobStatus status = judge_.progress();
    status.silent = silences_.count();
    progress_->turn(std::move(status), std::move(failures), out);
  }
  input().serve(has_reader(), turn);
  if (judge_.verdict()) tell_verdict(turn, out, orders);
  restart(now, out, orders);
  const bool can_be_suspended = job_->checkup || judge_.launch().all_up() || judge_.verdict();
  if (const auto on = signals_.turn(orders.end.has_value(), can_be_suspended)) orders.suspend = on;
  if (signals_.suspended()) orphan_bound_.suspended();
}

Instant RootController::next_deadline() const {
  Instant deadline = earlier(earlier(judge_.next_deadline(), time_limit_.next_deadline()),
                             earlier(start_.next_deadline(), silences_.next_deadline()));
  if (restart_) deadline = earlier(deadline, restart_->next_deadline());
  if (ccs_) deadline = earlier(deadline, ccs_->next_deadline());
  if (judge_.verdict()) return deadline;
  deadline = earlier(deadline, earlier(resizing_.next_deadline(), crashes_.next_deadline()));
  return in_place_ ? earlier(deadline, in_place_->next_deadline()) : deadline;
}

/// Where numbers do not depend on the hosts, these have them already.
void RootController::number(Turn& turn, RootOrders& orders) {
  orders.start = !job_->is_numbered_late();
  if (orders.start)
    judge_.numbered(turn.now());
  else
    orders.numbers = numbering_.number(turn);
}

/// The first table, or, of a job that has been resized, the next.
void RootController::deliver_table(Turn& turn, Actions& out, RootOrders& orders) {
  auto blocks = judge_.take_blocks();
  if (!blocks) return;
  wire::NodeTable table{tables_++, job_->pes_per_process, std::move(*blocks)};
  const wire::Blob coded = wire::encode(table);
  if (const auto fits = wire::check_table(table, coded->size()); !fits) return judge_.refuse(fits.error());
  using Protocol = StartReport::Protocol;
  start_.announce(table.is_native() ? Protocol::native : Protocol::charm, turn.now(), out);
  turn.to_all(wire::TableDown{coded});
  const ccs::Programs programs{job_->processes, job_->pes_per_process, table.is_native()};
  if (ccs_) ccs_->start(programs, turn.now(), out, orders.process);
  if (in_place_)
    in_place_->begin(std::move(table));
  else if (is_by_program(job_->loss.recovery))
    crashes_.begin(std::move(table), job_->timeout);
}

void RootController::resize(Turn& turn, RootOrders& orders) {
  auto reshaping = resizing_.turn(turn);
  if (!reshaping) return;
  coded_job_ = wire::encode(*job_);
  orders.numbers = std::move(reshaping->shares);
  orders.reshape = std::move(reshaping->order);
  orders.new_hosts = std::move(reshaping->joined);
}

void RootController::recover(Turn& turn, RootOrders& orders) {
  if (!in_place_) return crashes_.turn(turn);
  for (wire::Restart& restart : in_place_->turn(start_.absent(), turn)) {
    restart.input_ended = input().has_ended_for(restart.process);
    orders.process.emplace_back(restart.process, restart);
  }
}

/// Processes are lost, and the job goes on: who hears of it.
void RootController::go_on(Turn& turn, RootOrders& orders) {
  for (const Loss& loss : judge_.take_losses()) {
    if (!loss.line.empty()) turn.say(Tone::error, loss.line);
    turn.tell(ProcessesLost{loss.processes});
    if (progress_) progress_->on(loss);
  }
  if (auto lost = judge_.tell_losses(turn.now())) orders.everyone.emplace_back(std::move(*lost));
}

/// What is read of the user's input now comes to somebody. Of copies all wait until each one has its reader.
bool RootController::has_reader() const {
  if (is_restarting() || !judge_.launch().all_up()) return false;
  if (!in_place_) return true;
  return job_->input.to_all ? !in_place_->is_any_absent() : !in_place_->is_absent(job_->input.process);
}

// ---- the end, and what comes behind it

namespace {

/// What a request did to the process, its handler may have said nowhere.
void end_ccs(ccs::Router& ccs, const Ending& why, Actions& out) {
  if (why.process && why.cause != Cause::finished) {
    for (const std::string& line : ccs.unanswered(*why.process))
      out.push_back(Say{Tone::error, fmt::format("process {} {}", *why.process, line)});
  }
  ccs.finish(out);
}

}  // namespace

void RootController::tell_verdict(Turn& turn, Actions& out, RootOrders& orders) {
  const Verdict& verdict = *judge_.verdict();
  if (end_.is_new()) {
    const Tone tone = verdict.why.cause == Cause::user_signal ? Tone::info : Tone::error;
    for (const std::string& line : verdict.lines) out.push_back(Say{tone, line});
    if (job_->processes > 1) shown_lately_.say_last_words(verdict.why, out);  // one alone has just said them
    if (ccs_) end_ccs(*ccs_, verdict.why, out);
    silences_.decided();
    if (restart_ && restart_->consider(*job_, judge_, start_.begun_at(), turn.now(), out) && progress_)
      progress_->restarts(verdict.why);
    if (!is_restarting()) time_limit_.lift();
    input().release_keys(turn);
  }
  if (services_.of<stacks::StacksService>().holds_end(verdict)) return;
  if (auto end = end_.order(verdict, is_restarting() || stays())) orders.end = end;
}

/// The launchers are there for another program. Not where there never was a tree.
bool RootController::stays() const {
  return end_.stays(*job_, numbering_.any_wanted() || judge_.verdict()->status == 0);
}

/// Another verdict is to be passed: the job ends after all. False: it was to end anyway.
bool RootController::cancel_restart() {
  if (!restart_ || !restart_->cancel()) return false;
  end_.reopen(judge_);
  return true;
}

void RootController::restart(Instant now, Actions& out, RootOrders& orders) {
  if (!restart_) return;
  switch (restart_->turn(orphan_bound_, hosts_, now, out)) {
    case ProgramRestart::Now::wait:
      return;
    case ProgramRestart::Now::start:
      orders.relaunch = true;
      return;
    case ProgramRestart::Now::give_up:
      time_limit_.lift();
      orders.end = judge_.verdict()->end;
  }
}

std::unique_ptr<RootController> RootController::next_run(Instant now) {
  RootPlan plan = *first_plan_;
  plan.job.loss.restarts = restart_->restarts();
  plan.job.spawn.held = false;
  plan.job.arguments.insert(plan.job.arguments.end(), plan.restart->arguments.begin(),
                            plan.restart->arguments.end());
  wire::LaunchRules& rules = plan.job.launch;
  const bool any_missing = restart_->has_lost_launchers() || !start_.absent().empty();
  if (any_missing && rules.on_host_failure == wire::OnHostFailure::abort) {
    rules.on_host_failure = wire::OnHostFailure::spare;
    // Without a host that is just slow the job would end: there is no spare.
    if (rules.patience == Duration{0} && !plan.restart->may_narrow) rules.patience = plan.job.timeout;
  }
  // Each host has just confirmed that the last run has ended there: none has to be waited for.
  if (!any_missing && judge_.launch().all_up()) plan.job.starts_together = false;
  *job_ = plan.job;
  auto next = std::unique_ptr<RootController>(new RootController(std::move(plan), job_));
  next->first_plan_ = first_plan_;
  next->restart_ = restart_->next_run();
  next->start_.take_over(start_);
  next->new_host_keys_ = std::move(new_host_keys_);
  next->signals_.take_over(signals_);
  next->services_.take_over(std::move(services_));
  next->orphan_bound_.take_over(orphan_bound_);
  if (signals_.suspended()) next->orphan_bound_.suspended();
  next->begin(now);
  next->time_limit_ = time_limit_;
  return next;
}

/// Runs of a session are numbered late. The verdict of a run ends neither tree nor session. Hosts that were
/// lost are logged in to again by the next run, and left out if that fails; then by none for 30 s, since each
/// would wait for a host that is down. What is not confirmed to have ended on a host keeps that host out of
/// the next run, but nobody waits for it as a restart does: nothing of the old run is started again. None of
/// the session's own options reaches its runs, so that nobody has to know what others had said.
///
/// Runs of a session (DESIGN D23) follow each other over the same tree, whatever became of the one before.
/// The first one has no processes: there is just a tree behind it. What is of a run alone begins anew, also
/// what its hosts were found to be. Hosts have kept their places.
std::unique_ptr<RootController> RootController::next_run(const RunPlan& run, Instant now) {
  RootPlan plan;
  plan.job = run.job;
  plan.hosts = std::move(hosts_);
  for (std::size_t i = 0; i < plan.hosts.size(); ++i)
    plan.hosts[i].processes = i < run.processes.size() ? run.processes[i] : 0;
  plan.time_limit = run.time_limit;
  plan.int_ends = run.int_ends;
  plan.bad_exit = run.bad_exit;
  plan.shows_output = run.shows_output;
  *job_ = plan.job;
  auto next = std::unique_ptr<RootController>(new RootController(std::move(plan), job_));
  next->new_host_keys_ = std::move(new_host_keys_);
  next->begin(now);
  return next;
}

}  // namespace charmtree
