// SPDX-License-Identifier: Apache-2.0
#include "tree/job/start_report.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "tree/turn/job_status.hpp"

namespace charmtree::proto {

void StartReport::take_over(StartReport& before) {
  absent_ = std::move(before.absent_);
  random_layout_ = std::move(before.random_layout_);
  knows_all_ = before.knows_all_;
}

void StartReport::begin(Instant now) {
  begun_at_ = now;
  if (!job_->checkup) late_at_ = now + kLateAfter;
}

void StartReport::on(const wire::Facts& facts) {
  failures_.insert(failures_.end(), facts.hosts_failed.begin(), facts.hosts_failed.end());
  for (const wire::HostFailure& failure : facts.hosts_failed) absent_.insert(failure.host);
  random_layout_.insert(facts.random_layout.begin(), facts.random_layout.end());
  registering_ = registering_ || facts.registered > 0;
  init_.joined(facts.joined);
  process_ids_.insert(process_ids_.end(), facts.process_ids.begin(), facts.process_ids.end());
}

void StartReport::on(const wire::LinkLost& lost, const Judge& judge) {
  const bool starting = !judge.verdict() && !announced_ && (!judge.launch().all_up() || registering_);
  if (starting && lost_at_start_.insert(lost.host).second) failures_.push_back({lost.host, lost.error});
}

void StartReport::failed(std::vector<wire::HostFailure> hosts) {
  for (wire::HostFailure& host : hosts) failures_.push_back(std::move(host));
}

void StartReport::tell_late(const Judge& judge, Instant now, Actions& out) {
  if (judge.launch().all_up() || judge.verdict()) late_at_ = kNever;
  if (now < late_at_) return;
  late_at_ = kNever;
  JobStatus status = judge.status();
  const std::size_t late = status.late.size();
  if (late > kMostLate) status.late.resize(kMostLate);
  std::string line = fmt::format("after {:g} s: {}", seconds(now - begun_at_), summary(status));
  if (late > kMostLate) line += fmt::format(" and {} more", late - kMostLate);
  if (job_->launch.on_host_failure != wire::OnHostFailure::abort)
    line += "; ++host-patience and ++wait-hosts limit that";
  else if (could_drop_)
    line += fmt::format("; ++on-host-failure drop would do without {}", late == 1 ? "it" : "them");
  out.push_back(Say{Tone::info, std::move(line)});
}

void StartReport::record(Instant now, Actions& out) {
  for (wire::HostFailure& failure : failures_)
    out.push_back(Record{wire::Stamps{failure.host}, std::move(failure.error), now});
  failures_.clear();
}

bool StartReport::tell_processes(const LaunchState& launch, Actions& out) {
  const bool all = !knows_all_ && launch.all_up();
  if (process_ids_.empty() && !all) return false;
  knows_all_ = knows_all_ || all;
  out.push_back(ProcessesKnown{job_, std::exchange(process_ids_, {}), all});
  return all;
}

/// The line by which tools of Charm++ know that its programs run, on their stdout. That of others is theirs.
void StartReport::announce(Protocol protocol, Instant now, Actions& out) {
  if (std::exchange(announced_, true)) return;
  const double took = seconds(now - begun_at_);
  if (protocol == Protocol::native)
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
              names_of({random_layout_.begin(), random_layout_.end()}, hosts_))});
}

}  // namespace charmtree::proto
