// SPDX-License-Identifier: Apache-2.0
#include "health/program_restart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tree/turn/job_status.hpp"

namespace charmtree::proto {

namespace {
constexpr std::uint32_t kProgram = 0;  // for the budget
}  // namespace

ProgramRestart ProgramRestart::next_run() const {
  ProgramRestart next{rules_};
  next.budget_ = budget_;
  return next;
}

std::uint32_t ProgramRestart::restarts() const {
  return budget_.restarts(kProgram);
}

/// What a user or a time limit has ended is not started again, nor is the first launch when hosts fail.
bool ProgramRestart::may_restart(const wire::JobSpec& job, const Judge& judge) const {
  switch (judge.verdict()->why.cause) {
    case Cause::finished:
    case Cause::user_signal:
    case Cause::time_limit:
      return false;
    case Cause::launcher:  // something else than the loss of a host would happen again
      return lost_launchers_ && (job.loss.restarts > 0 || judge.launch().all_up());
    default:  // a process that is started again by itself is lost for good
      return job.loss.recovery != wire::Recovery::in_place;
  }
}

bool ProgramRestart::consider(const wire::JobSpec& job, const Judge& judge, Instant begun_at, Instant now,
                              Actions& out) {
  if (!may_restart(job, judge)) return false;
  budget_.runs(kProgram, begun_at);
  const std::string hopeless = budget_.lost(kProgram, now);
  if (!hopeless.empty()) {
    out.push_back(Say{Tone::error, "the job is not restarted: " + hopeless});
    return false;
  }
  due_ = true;
  pause_ = budget_.pause(kProgram);
  std::string line =
      fmt::format("restarting the job ({} of at most {} times)", budget_.restarts(kProgram), budget_.most());
  if (pause_ > Duration{0}) line += fmt::format(" in {:g} s", seconds(pause_));
  out.push_back(Say{Tone::info, std::move(line)});
  return true;
}

bool ProgramRestart::cancel() {
  if (!std::exchange(due_, false)) return false;
  at_ = kNever;
  return true;
}

void ProgramRestart::idle(Left left, const OrphanBound& bound, const std::vector<Host>& hosts, Instant now,
                          Actions& out) {
  if (!due_) return;
  left_ = std::move(left);
  lost_launchers_ = lost_launchers_ || !left_.unconfirmed.empty();
  at_ = from_ = now + pause_;
  if (left_.unconfirmed.empty() || rules_.fast_failover) return;
  at_ = std::max(at_, now + bound.time());
  const bool ends = std::all_of(left_.unconfirmed.begin(), left_.unconfirmed.end(),
                                [&](std::uint32_t host) { return is_bounded(host, bound); });
  out.push_back(
      Say{Tone::info, fmt::format("{}: not confirmed that the job has ended there; waiting {}{:g} s, until "
                                  "it {} (++fast-failover does not wait)",
                                  names_of({left_.unconfirmed.begin(), left_.unconfirmed.end()}, hosts),
                                  ends ? "" : "at most ", seconds(bound.time()), ends ? "has" : "is")});
}

void ProgramRestart::confirmed(const std::vector<std::uint32_t>& hosts) {
  for (const std::uint32_t host : hosts) left_.unconfirmed.erase(host);
  if (at_ != kNever && left_.unconfirmed.empty()) at_ = from_;
}

/// Where nothing bounds how long the processes of this run may be left, waiting is no use.
ProgramRestart::Now ProgramRestart::turn(const OrphanBound& bound, const std::vector<Host>& hosts,
                                         Instant now, Actions& out) {
  if (now < at_) return Now::wait;
  std::vector<std::uint32_t> unbounded;
  for (const std::uint32_t host : left_.unconfirmed) {
    if (!is_bounded(host, bound) && !rules_.fast_failover) unbounded.push_back(host);
  }
  if (unbounded.empty()) return Now::start;
  due_ = false;
  at_ = kNever;
  out.push_back(
      Say{Tone::error, fmt::format("the job is not restarted: {}: its processes may still run there, and "
                                   "nothing bounds for how long (++fast-failover restarts it all the same)",
                                   names_of(unbounded, hosts))});
  return Now::give_up;
}

}  // namespace charmtree::proto
