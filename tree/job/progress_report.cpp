// SPDX-License-Identifier: Apache-2.0
#include "tree/job/progress_report.hpp"

#include <utility>

#include "tree/turn/process_end.hpp"

namespace charmtree::proto {

/// Hosts that answer before everybody has have yet to start their processes.
void ProgressReport::on(const wire::Facts& facts, bool has_numbers) {
  if (has_numbers) news_.hosts_up.insert(news_.hosts_up.end(), facts.hosts_up.begin(), facts.hosts_up.end());
  news_.ended.insert(news_.ended.end(), facts.who_ended.begin(), facts.who_ended.end());
  news_.started_by.insert(news_.started_by.end(), facts.started_by.begin(), facts.started_by.end());
  for (const wire::ProcessExit& exit : facts.exits)
    news_.lost.push_back({exit.process, exit.refused ? exit.text : describe(exit), exit.asked});
}

void ProgressReport::on(const wire::LinkLost& lost) {
  news_.hosts_lost.push_back({lost.host, lost.error});
}

void ProgressReport::on(const wire::AbortUp& abort) {
  news_.lost.push_back({abort.process, describe(abort)});
}

bool ProgressReport::any_news() const {
  return !news_.hosts_up.empty() || !news_.hosts_lost.empty() || !news_.started_by.empty() ||
         !news_.ended.empty() || !news_.lost.empty() || !news_.losses.empty() || !news_.restarts.empty() ||
         !news_.back.empty() || !news_.silences.empty() || !news_.failures.empty() || news_.restarted;
}

void ProgressReport::turn(JobStatus status, std::vector<Progress::Failure> failures, Actions& out) {
  news_.failures = std::move(failures);
  if (status == news_.status && !any_news()) return;
  news_.status = status;
  out.push_back(std::exchange(news_, Progress{std::move(status)}));
}

}  // namespace charmtree::proto
