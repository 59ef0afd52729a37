// SPDX-License-Identifier: Apache-2.0
// The desk's part in showing a job while it runs: what has become of hosts and processes, as it comes up.
#include <fmt/format.h>

#include "charmrun/node/root_desk.hpp"
#include "tree/proto/process_end.hpp"

namespace charmtree {

using namespace proto;

/// Hosts that answer before everybody has have yet to start their processes.
void RootDesk::note_progress(const wire::Facts& facts) {
  if (judge_.has_numbers())
    progress_.hosts_up.insert(progress_.hosts_up.end(), facts.hosts_up.begin(), facts.hosts_up.end());
  progress_.ended.insert(progress_.ended.end(), facts.who_ended.begin(), facts.who_ended.end());
  progress_.started_by.insert(progress_.started_by.end(), facts.started_by.begin(), facts.started_by.end());
  for (const wire::ProcessExit& exit : facts.exits)
    progress_.lost.push_back({exit.process, exit.refused ? exit.text : describe(exit), exit.asked});
}

void RootDesk::note_progress(const wire::Message& message) {
  if (const auto* lost = std::get_if<wire::LinkLost>(&message))
    progress_.hosts_lost.push_back({lost->host, lost->error});
  else if (const auto* abort = std::get_if<wire::AbortUp>(&message))
    progress_.lost.push_back({abort->process, describe(*abort)});
  else if (const auto* back = std::get_if<wire::Rejoined>(&message))
    progress_.back.push_back(back->process);
}

void RootDesk::tell_progress(Actions& out) {
  progress_.failures = judge_.take_failures();
  if (!tells_progress_) return;
  JobStatus status = judge_.progress();
  status.silent = silences_.count();
  const bool news = !progress_.hosts_up.empty() || !progress_.hosts_lost.empty() ||
                    !progress_.started_by.empty() || !progress_.ended.empty() || !progress_.lost.empty() ||
                    !progress_.losses.empty() || !progress_.restarts.empty() || !progress_.back.empty() ||
                    !progress_.silences.empty() || !progress_.failures.empty() || progress_.restarted;
  if (status == progress_.status && !news) return;
  progress_.status = status;
  out.push_back(std::exchange(progress_, Progress{std::move(status)}));
}

/// Once: whoever waits behind a pipe or a log sees nothing else of it until all are there or given up.
void RootDesk::tell_late(Instant now, Actions& out) {
  if (judge_.all_up() || judge_.verdict()) late_at_ = kNever;
  if (now < late_at_) return;
  late_at_ = kNever;
  JobStatus status = judge_.status();
  const std::size_t late = status.late.size();
  if (late > kMostLate) status.late.resize(kMostLate);
  std::string line = fmt::format("after {:g} s: {}", seconds(now - begun_at_), summary(status));
  if (late > kMostLate) line += fmt::format(" and {} more", late - kMostLate);
  if (job_->launch.on_failure != wire::OnHostFailure::abort)
    line += "; ++host-patience and ++wait-hosts limit that";
  else if (could_drop_)
    line += fmt::format("; ++on-host-failure drop would do without {}", late == 1 ? "it" : "them");
  out.push_back(Say{Tone::info, std::move(line)});
}

}  // namespace charmtree
