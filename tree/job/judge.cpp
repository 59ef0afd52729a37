// SPDX-License-Identifier: Apache-2.0
#include "tree/job/judge.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tree/base/exit_status.hpp"

namespace charmtree::proto {

Judge::Judge(const wire::JobSpec& job, const std::vector<Host>& hosts, BadExit bad_exit)
    : job_(job),
      hosts_(hosts),
      bad_exit_rule_(bad_exit),
      launch_(job, hosts),
      registrations_(job, hosts),
      places_(hosts),
      exits_(places_, registrations_),
      decision_(job, launch_) {
  if (job.loss.recovery == wire::Recovery::go_on || job.repairs())
    going_on_.emplace(GoingOn::Sources{job, hosts, places_, registrations_}, exits_);
}

void Judge::begin(Instant now, const std::set<std::uint32_t>& absent) {
  launch_.begin(absent, now);
}

void Judge::resume(const InheritedState& inherited) {
  if (inherited.has_table) registrations_.resume_with_table();
  barriers_.resume(inherited.releases);
  going_on_->resume(inherited.epoch, inherited.lost);
  judge_end();
}

void Judge::decide(Verdict verdict) {
  decision_.decide(std::move(verdict), job_.processes - std::min(job_.processes, done()));
}

std::uint32_t Judge::done() const {
  return going_on_ ? going_on_->losses().done() : exits_.done();
}

void Judge::on(wire::Facts facts, Instant now) {
  launch_.answered(facts.hosts_up, std::move(facts.hosts_failed), now);
  registrations_.add(std::move(facts.blocks), facts.registered);
  registrations_.await_first(launch_.limits_registrations(), now);
  barriers_.enter(facts.epoch, facts.barrier);
  joined_ += facts.joined;
  exits_.on(facts);
  if (going_on_) going_on_->losses().ended(facts.who_ended);
  if (job_.loss.recovery == wire::Recovery::in_place) {
    for (const wire::ProcessSet::Range& range : facts.who_ended) places_.finished(range);
  }
  // Of those that came together, the lowest number counts as the first.
  std::stable_sort(facts.exits.begin(), facts.exits.end(),
                   [](const auto& a, const auto& b) { return a.process < b.process; });
  for (const wire::ProcessExit& exit : facts.exits) judge_exit(exit, now);
  judge_launch();
  judge_end();
}

void Judge::repaired() {
  if (going_on_) going_on_->losses().count_anew();
}

void Judge::lost(const wire::ProcessExit& exit, const std::string& why) {
  exits_.count_gone();
  exits_.note(exit);
  decide(exits_.verdict_of(exit, "", "; " + why));
}

void Judge::registered(wire::TupleBlock block, Instant now) {
  if (registrations_.has_table()) return;
  if (registrations_.add_again(std::move(block))) registrations_.await(launch_.limits_registrations(), now);
}

/// Of Charm++ programs nobody is restarted who is about to be in the first table, nor once another one has
/// ended: then the program is ending, and those that have ended would not help it to recover. A client of the
/// client library is not once all were told that they may leave.
bool Judge::can_be_restarted(const wire::ProcessExit& exit) const {
  if (!exit.restartable) return false;
  if (is_by_program(job_.loss.recovery)) return registrations_.has_table() && !exits_.any_ended();
  const bool has_registered = exit.registered || exit.ended;
  return !has_registered || !barriers_.leaving();
}

void Judge::judge_exit(const wire::ProcessExit& exit, Instant now) {
  if (verdict()) {
    exits_.note(exit);
    return decision_.ended(exit);
  }
  if (exit.refused)
    return decide(failure(kLauncherFailed, places_.about(exit.process, Phase::start, exit.text)));
  if (can_be_restarted(exit)) {
    crashes_.push_back(exit);
    return;
  }
  exits_.note(exit);
  if (going_on_ && going_on_->goes_on_without(exit)) return going_on_->lose(exit);
  exits_.count_gone();
  if (exit.registered) {
    const EarlyLeave early = early_leave(exit);
    return decide(exits_.verdict_of(exit, early.what, early.hint));
  }
  if (going_on_) going_on_->losses().ended({{exit.process, exit.process}});
  exits_.failed(exit);
  if (exit.signal != 0 || bad_exit_rule_ == BadExit::ends) return decide(exits_.verdict_of(exit, "", ""));
  exits_.notices().add(exit, exits_.about(exit), now);
}

std::vector<Loss> Judge::take_losses() {
  return going_on_ ? going_on_->losses().take_news() : std::vector<Loss>{};
}

/// A launcher that joins the tree later would not hear of an epoch that has begun.
bool Judge::tells_losses() const {
  return going_on_ && !verdict() && !registrations_.is_pending() && launch_.all_up();
}

std::optional<wire::Lost> Judge::tell_losses(Instant now) {
  if (!tells_losses()) return {};
  auto lost = going_on_->losses().tell(now);
  if (lost) begin_epoch(lost->epoch);
  return lost;
}

/// Waits until every host has answered, so that one run lists all bad hosts.
void Judge::judge_launch() {
  if (!launch_.all_answered()) return;
  if (job_.checkup) return decide({});  // the doctor's to judge
  const bool can_do_without =
      !launch_.has_numbers() && job_.launch.on_host_failure != wire::OnHostFailure::abort;
  const std::vector<wire::HostFailure> failed = launch_.failures();
  if (can_do_without || failed.empty() || verdict()) return;
  std::vector<std::string> lines = launch_.failure_lines();
  Verdict verdict = failure(launch_.failure_status(), lines.front());
  verdict.why.host = failed.front().host;
  verdict.lines = std::move(lines);
  decide(std::move(verdict));
}

/// A process that leaves without having registered is normal for a plain program, and fatal where others wait
/// for it, in the table or in MPI_Init.
void Judge::judge_end() {
  if (exits_.any_gone() && registrations_.is_pending() && !verdict()) {
    const bool by_loss = going_on_ && going_on_->first() && !exits_.any_failed();
    if (by_loss) return decide(*going_on_->first());
    decide(exits_.verdict_of_early(registrations_.count(), "registering", "in the node table"));
  }
  const bool is_loss = job_.loss.recovery == wire::Recovery::go_on && exits_.any_failed_silent();
  if (joined_ > 0 && exits_.any_silent() && !is_loss && !verdict())
    decide(exits_.verdict_of_early(joined_, "MPI_Init", "there"));
  const bool all = done() >= job_.processes && job_.processes > 0;
  if (!all && !(job_.resizes && exits_.any_ended())) return;  // there process 0 ends for all
  const bool lossy = going_on_ && !going_on_->losses().lost().empty();
  decide(lossy ? going_on_->verdict_at_end() : exits_.verdict_at_end());
}

void Judge::on(const wire::AbortUp& abort) {
  exits_.note(abort);
  if (!verdict()) {
    decide(exits_.verdict_of(abort));  // it is one of the unfinished until then
    exits_.count_gone();
  }
  decision_.aborted(abort.process);
}

void Judge::on(const wire::LinkLost& lost) {
  if (job_.checkup) {
    launch_.gone(lost.host);
    return judge_launch();
  }
  if (!verdict()) exits_.note_lost(lost.processes);
  if (going_on_ && launch_.all_up() && going_on_->goes_on_without(lost)) {
    if (verdict()) return;
    going_on_->lose(lost);
    return judge_end();
  }
  const std::string how = to_string(lost.error);
  decide(failure(kLauncherFailed, fmt::format("{}: {}", hosts_[lost.host].name, how),
                 {Cause::launcher, {}, lost.host, how}));
}

void Judge::stalled(bool stalled, Instant now) {
  launch_.stalled(stalled, now);
  registrations_.await(launch_.limits_registrations(), now);
}

std::vector<wire::HostFailure> Judge::tick(Instant now) {
  std::vector<wire::HostFailure> silent;
  if (!verdict() && now >= launch_.next_deadline()) {
    silent = launch_.give_up_silent();
    judge_launch();
    if (job_.checkup) silent.clear();  // the doctor sees who has said nothing
  }
  if (!verdict() && registrations_.is_over(now)) decide(failure(kLauncherFailed, registrations_.late_line()));
  return silent;
}

Instant Judge::next_deadline() const {
  if (verdict()) return kNever;
  const Instant deadline = earlier(earlier(registrations_.next_deadline(), launch_.next_deadline()),
                                   exits_.notices().next_deadline());
  return tells_losses() ? earlier(deadline, going_on_->losses().next_deadline()) : deadline;
}

std::vector<std::string> Judge::numbered(Instant now) {
  std::vector<std::string> lines = launch_.failure_lines();
  launch_.numbered(now);
  return lines;
}

void Judge::reshaped(Instant now) {
  registrations_.clear();
  barriers_.clear();
  launch_.numbered(now);
}

std::optional<std::vector<wire::TupleBlock>> Judge::take_blocks() {
  if (verdict()) return {};
  return registrations_.take_blocks();
}

bool Judge::take_release(BarrierKind kind) {
  return barriers_.open(kind, going_on_ ? going_on_->losses().awaited() : job_.processes);
}

bool Judge::can_move() const {
  return job_.loss.recovery == wire::Recovery::in_place && launch_.all_up() && !verdict() &&
         !registrations_.is_pending() && !barriers_.leaving();
}

JobStatus Judge::progress() const {
  JobStatus status;
  launch_.describe(status);
  status.processes = job_.processes;
  status.registered = registrations_.count();
  status.ended = done();
  if (going_on_) status.lost = static_cast<std::uint32_t>(going_on_->losses().lost().size());
  if (verdict())
    status.stage = Stage::end;
  else if (!launch_.all_up())
    status.stage = Stage::launch;
  else
    status.stage = registrations_.is_pending() ? Stage::start : Stage::run;
  return status;
}

JobStatus Judge::status() const {
  JobStatus status = progress();
  if (status.stage == Stage::launch) status.late = launch_.unanswered();
  if (status.stage == Stage::start) status.late = registrations_.unregistered_hosts();
  return status;
}

/// Before all were up, some may not have been started.
ProcessEnds Judge::ends() const {
  ProcessEnds ends = exits_.ends();
  if (!verdict() || !launch_.all_up()) return ends;
  const bool finished = verdict()->end.mode == wire::EndMode::finish;
  ends.add_others({finished ? EndKind::well : EndKind::stopped}, job_.processes);
  return ends;
}

/// Of losses each was told by a line of its own, and their sum is.
std::string Judge::failures() const {
  if (going_on_ && !going_on_->losses().lost().empty()) return {};
  if (!places_.has_one_each()) return exits_.ends().line();
  return exits_.ends().line(
      [&](const wire::ProcessSet& processes) { return " on " + places_.names_of(processes); });
}

}  // namespace charmtree::proto
