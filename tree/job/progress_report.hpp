// SPDX-License-Identifier: Apache-2.0
// The root's part in showing a job while it runs: what has become of hosts and processes, as it comes up.
// Only of a job that somebody looks at (RootPlan::tells_progress).
#pragma once

#include <vector>

#include "tree/turn/events.hpp"
#include "tree/turn/job_status.hpp"

namespace charmtree::proto {

class ProgressReport {
public:
  /// `has_numbers`: processes have theirs, so that hosts that are up have started them.
  void on(const wire::Facts& facts, bool has_numbers);
  void on(const wire::LinkLost& lost);
  void on(const wire::AbortUp& abort);
  void on(const wire::Rejoined& back) { news_.back.push_back(back.process); }
  void on(const wire::Silence& silence) { news_.silences.push_back(silence); }
  void on(const Loss& loss) { news_.losses.push_back(loss); }
  void on(const Progress::ProcessRestart& restart) { news_.restarts.push_back(restart); }
  /// The program is started again as a whole, because of this.
  void restarts(const Ending& why) { news_.restarted = why; }

  /// Tells what has changed, and the status if it has.
  void turn(JobStatus status, std::vector<Progress::Failure> failures, Actions& out);

private:
  bool any_news() const;

  Progress news_;  // with the status as it was told
};

}  // namespace charmtree::proto
