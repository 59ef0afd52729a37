// SPDX-License-Identifier: Apache-2.0
// The desk's part in a session (DESIGN D23): its runs follow each other over the same tree, whatever became
// of the one before. The first one has no processes: there is just a tree behind it.
//
// Its runs are numbered late. The verdict of a run ends neither tree nor session. Hosts that were lost are
// logged in to again by the next run, and left out if that fails; then by none for 30 s, since each would
// wait for a host that is down. What is not confirmed to have ended on a host keeps that host out of the next
// run, but nobody waits for it as a restart does: nothing of the old run is started again. None of the
// session's own options reaches its runs, so that nobody has to know what others had said.
#include <utility>

#include "charmrun/node/root_desk.hpp"

namespace charmtree {

using namespace proto;

/// The launchers stay. Not where there never was a tree.
bool RootDesk::stays() const {
  return job_->session && !session_ends_ && (!wanted_.empty() || judge_.verdict()->status == 0);
}

/// What is of a run alone begins anew, also what its hosts were found to be. Hosts have kept their places.
std::unique_ptr<RootDesk> RootDesk::next_run(const RunPlan& run, Instant now) {
  RootPlan plan;
  plan.job = run.job;
  plan.hosts = std::move(hosts_);
  for (std::size_t i = 0; i < plan.hosts.size(); ++i)
    plan.hosts[i].processes = i < run.processes.size() ? run.processes[i] : 0;
  plan.time_limit = run.time_limit;
  plan.int_ends = run.int_ends;
  plan.bad_exit = run.bad_exit;
  plan.shows_output = run.shows_output;
  plan.key_names = std::move(key_names_);
  *job_ = plan.job;
  auto next = std::unique_ptr<RootDesk>(new RootDesk(std::move(plan), job_));
  next->new_host_keys_ = std::move(new_host_keys_);
  next->begin(now);
  return next;
}

void RootDesk::end_session(int signal) {
  session_ends_ = true;
  if (std::exchange(awaits_run_, false)) {
    told_verdict_ = told_kill_ = false;
    judge_.reopen();
  }
  judge_.interrupted(signal);
}

}  // namespace charmtree
