// SPDX-License-Identifier: Apache-2.0
// The desk's part in showing a job while it runs: what has become of hosts and processes, as it comes up.
#include "charmrun/node/root_desk.hpp"
#include "tree/proto/process_end.hpp"

namespace charmtree {

using namespace proto;

/// Hosts that answer before the processes have numbers have yet to start them.
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

}  // namespace charmtree
