// SPDX-License-Identifier: Apache-2.0
// How far the root is with the end of a run of the program: what it has ordered, and whether the launchers
// stay for another program (DESIGN D23).
#pragma once

#include <optional>
#include <utility>

#include "tree/job/judge.hpp"

namespace charmtree::proto {

class RunEnd {
public:
  /// True once: it has been decided how the run ends.
  bool is_new() { return !std::exchange(known_, true); }
  /// What is to be ordered now. `stays`: launchers stay for another run.
  std::optional<wire::End> order(const Verdict& verdict, bool stays);
  /// Another verdict is to be passed: the job ends after all.
  void reopen(Judge& judge);

  /// The session ends, with its run if there is one.
  void end_session(Judge& judge);
  /// Launchers stay for another program. `has_tree`: there are any.
  bool stays(const wire::JobSpec& job, bool has_tree) const {
    return job.session && !session_ends_ && has_tree;
  }
  /// The launchers are idle: the next program is awaited, if `yes`.
  void await_run(bool yes) { awaits_run_ = yes; }
  bool awaits_run() const { return awaits_run_; }

private:
  bool known_ = false, ordered_ = false, ordered_kill_ = false;
  bool awaits_run_ = false, session_ends_ = false;
};

}  // namespace charmtree::proto
