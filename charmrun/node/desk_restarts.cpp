// SPDX-License-Identifier: Apache-2.0
// The desk's part in a program that is started again as a whole (++on-failure restart): whether that is done,
// when, with what arguments and on which hosts.
//
// Where the end of the old processes is not confirmed, the same ones may start elsewhere once the orphan
// bound has passed. That is a bound only where a launcher that is cut off notices it: not without heartbeats,
// not where it could not see that its parent acknowledges nothing (no sshd of its own on the connection), not
// where it may have been suspended meanwhile, nor below a launcher that was found frozen or silent, or did
// not end in time. Then nothing is started again, but by ++fast-failover. (One that is frozen when its
// network is cut is taken for cut off.)
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "charmrun/node/root_desk.hpp"

namespace charmtree {

using namespace proto;

namespace {
constexpr std::uint32_t kProgram = 0;  // for the budget
}  // namespace

/// What a user or a time limit has ended is not started again, nor is the first launch when hosts fail.
bool RootDesk::may_restart() const {
  if (!restart_budget_) return false;
  const Verdict& verdict = *judge_.verdict();
  switch (verdict.why.cause) {
    case Cause::finished:
    case Cause::user_signal:
    case Cause::time_limit:
      return false;
    case Cause::launcher:  // something else than the loss of a host would happen again
      return lost_launchers_ && (job_->restarts > 0 || judge_.all_up());
    default:  // a process that is started again by itself is lost for good
      return !job_->restarts_in_place;
  }
}

void RootDesk::consider_restart(Instant now, Actions& out) {
  if (!may_restart()) return;
  restart_budget_->runs(kProgram, begun_at_);
  const std::string hopeless = restart_budget_->lost(kProgram, now);
  if (!hopeless.empty()) {
    out.push_back(Say{Tone::error, "the job is not restarted: " + hopeless});
    return;
  }
  restarting_ = true;
  restart_pause_ = restart_budget_->pause(kProgram);
  std::string line = fmt::format("restarting the job ({} of at most {} times)",
                                 restart_budget_->restarts(kProgram), restart_budget_->most());
  if (restart_pause_ > Duration{0}) line += fmt::format(" in {:g} s", seconds(restart_pause_));
  out.push_back(Say{Tone::info, std::move(line)});
  if (tells_progress_) progress_.restarted = judge_.verdict()->why;
}

/// Another verdict is to be passed: the job ends after all. False: it was to end anyway.
bool RootDesk::cancel_restart() {
  if (!std::exchange(restarting_, false)) return false;
  restart_at_ = kNever;
  told_verdict_ = told_kill_ = false;
  judge_.reopen();
  return true;
}

/// Until nothing of a job is left on a host that nobody reaches.
Duration RootDesk::orphan_bound() const {
  constexpr Duration kSlack = 2s;
  return job_->heartbeat.orphan_after + kSlack;
}

/// The same process must not run twice: what nobody has confirmed may run until its launcher has noticed
/// that it is alone.
void RootDesk::idle(const std::set<std::uint32_t>& unconfirmed, const std::set<std::uint32_t>& unbounded,
                    Instant now, Actions& out) {
  awaits_run_ = !restarting_ && stays();
  if (!restarting_) return;
  unconfirmed_ = unconfirmed;
  unbounded_ = unbounded;
  lost_launchers_ = lost_launchers_ || !unconfirmed_.empty();
  restart_at_ = restart_from_ = now + restart_pause_;
  if (unconfirmed_.empty() || first_plan_->restart->fast_failover) return;
  const Duration bound = orphan_bound();
  restart_at_ = std::max(restart_at_, now + bound);
  const bool ends = std::all_of(unconfirmed_.begin(), unconfirmed_.end(),
                                [this](std::uint32_t host) { return is_bounded(host); });
  out.push_back(
      Say{Tone::info, fmt::format("{}: not confirmed that the job has ended there; waiting {}{:g} s, until "
                                  "it {} (++fast-failover does not wait)",
                                  names({unconfirmed_.begin(), unconfirmed_.end()}), ends ? "" : "at most ",
                                  seconds(bound), ends ? "has" : "is")});
}

void RootDesk::confirmed(const std::vector<std::uint32_t>& hosts) {
  for (const std::uint32_t host : hosts) unconfirmed_.erase(host);
  if (restart_at_ != kNever && unconfirmed_.empty()) restart_at_ = restart_from_;
}

/// A launcher there that cannot reach us notices it, and in time.
bool RootDesk::is_bounded(std::uint32_t host) const {
  return job_->heartbeat.interval > Duration{0} && !was_suspended_ && !unbounded_.contains(host) &&
         !blind_.contains(host);
}

/// ... or not: then waiting is no use.
void RootDesk::relaunch(Actions& out, DeskOrders& orders) {
  std::vector<std::uint32_t> unbounded;
  for (const std::uint32_t host : unconfirmed_) {
    if (!is_bounded(host) && !first_plan_->restart->fast_failover) unbounded.push_back(host);
  }
  if (unbounded.empty()) {
    orders.relaunch = true;
    return;
  }
  restarting_ = false;
  restart_at_ = limit_at_ = kNever;
  orders.end = judge_.verdict()->end;
  out.push_back(
      Say{Tone::error, fmt::format("the job is not restarted: {}: its processes may still run there, and "
                                   "nothing bounds for how long (++fast-failover restarts it all the same)",
                                   names(unbounded))});
}

std::unique_ptr<RootDesk> RootDesk::next_run(Instant now) {
  RootPlan plan = *first_plan_;
  plan.job.restarts = restart_budget_->restarts(kProgram);
  plan.job.arguments.insert(plan.job.arguments.end(), plan.restart->arguments.begin(),
                            plan.restart->arguments.end());
  wire::LaunchRules& rules = plan.job.launch;
  if ((lost_launchers_ || !absent_.empty()) && rules.on_failure == wire::OnHostFailure::abort) {
    rules.on_failure = wire::OnHostFailure::spare;
    // Without a host that is just slow the job would end: there is no spare.
    if (rules.patience == Duration{0} && !plan.restart->may_narrow) rules.patience = plan.job.timeout;
  }
  *job_ = plan.job;
  auto next = std::unique_ptr<RootDesk>(new RootDesk(std::move(plan), job_));
  next->first_plan_ = first_plan_;
  next->restart_budget_ = restart_budget_;
  next->absent_ = absent_;
  next->blind_ = std::move(blind_);
  next->judge_.leave_out(absent_);
  next->new_host_keys_ = std::move(new_host_keys_);
  next->random_layout_ = std::move(random_layout_);
  next->input_.take_over(input_);
  next->wants_suspension_ = wants_suspension_;
  next->suspended_ = next->was_suspended_ = suspended_;
  const Instant limit_at = limit_at_;
  next->begin(now);
  next->limit_at_ = limit_at;
  return next;
}

}  // namespace charmtree
