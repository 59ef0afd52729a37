// SPDX-License-Identifier: Apache-2.0
#include "tree/job/run_end.hpp"

namespace charmtree::proto {

std::optional<wire::End> RunEnd::order(const Verdict& verdict, bool stays) {
  const bool kill = verdict.end.mode == wire::EndMode::kill;
  const bool is_due = !ordered_ || (kill && !ordered_kill_);
  ordered_ = true;
  ordered_kill_ = ordered_kill_ || kill;
  if (!is_due) return std::nullopt;
  wire::End end = verdict.end;
  end.stay = stays;
  return end;
}

void RunEnd::reopen(Judge& judge) {
  known_ = ordered_ = ordered_kill_ = false;
  judge.decision().reopen();
}

void RunEnd::end_session(Judge& judge) {
  session_ends_ = true;
  if (std::exchange(awaits_run_, false)) reopen(judge);
}

}  // namespace charmtree::proto
