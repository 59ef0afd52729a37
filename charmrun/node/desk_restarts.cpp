// SPDX-License-Identifier: Apache-2.0
// The desk's part in a program that is started again as a whole (++on-failure restart): whether that is done,
// when, with what arguments and on which hosts.
#include <fmt/format.h>

#include <utility>

#include "charmrun/node/root_desk.hpp"

namespace charmtree {

using namespace proto;

/// What a user or a time limit has ended is not started again, nor is the first launch when hosts fail.
bool RootDesk::may_restart() const {
  if (!restart_policy_) return false;
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
  const health::RestartPolicy::Decision decision = restart_policy_->failed(begun_at_, now);
  if (!decision.again) {
    out.push_back(Say{Tone::error, "the job is not restarted: " + decision.no_more});
    return;
  }
  restarting_ = true;
  restart_pause_ = decision.pause;
  std::string line = fmt::format("restarting the job ({} of at most {} times)", restart_policy_->restarts(),
                                 restart_policy_->most());
  if (decision.pause > Duration{0}) line += fmt::format(" in {:g} s", seconds(decision.pause));
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
void RootDesk::idle(const std::vector<std::uint32_t>& unconfirmed, Instant now, Actions& out) {
  if (!restarting_) return;
  restart_at_ = now + restart_pause_;
  const Duration bound = orphan_bound();
  if (unconfirmed.empty() || first_plan_->restart->fast_failover) return;
  restart_at_ = std::max(restart_at_, now + bound);
  out.push_back(
      Say{Tone::info, fmt::format("{}: not confirmed that the job has ended there; waiting {:g} s, until "
                                  "it has (++fast-failover does not wait)",
                                  names(unconfirmed), seconds(bound))});
}

std::unique_ptr<RootDesk> RootDesk::next_run(Instant now) {
  RootPlan plan = *first_plan_;
  plan.job.restarts = restart_policy_->restarts();
  plan.job.arguments.insert(plan.job.arguments.end(), plan.restart->arguments.begin(),
                            plan.restart->arguments.end());
  if ((lost_launchers_ || !absent_.empty()) && plan.job.launch.on_failure == wire::OnHostFailure::abort)
    plan.job.launch.on_failure = wire::OnHostFailure::spare;
  *job_ = plan.job;
  auto next = std::unique_ptr<RootDesk>(new RootDesk(std::move(plan), job_));
  next->first_plan_ = first_plan_;
  next->restart_policy_ = restart_policy_;
  next->absent_ = absent_;
  next->judge_.leave_out(absent_);
  next->keys_written_ = std::move(keys_written_);
  next->random_layout_ = std::move(random_layout_);
  next->reading_ = reading_;
  next->early_input_ = std::move(early_input_);
  next->wants_suspension_ = wants_suspension_;
  next->suspended_ = suspended_;
  const Instant limit_at = limit_at_;
  next->begin(now);
  next->limit_at_ = limit_at;
  return next;
}

}  // namespace charmtree
