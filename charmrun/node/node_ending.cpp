// SPDX-License-Identifier: Apache-2.0
// The end of a launcher. It tells its children first, lets its processes go or asks them, kills what is left
// after the grace, looks for what they left behind, waits (bounded) for its children to say the same, and
// only then says Done. A launcher whose parent is gone does all this with SIGKILL and says it to nobody.
//
// The end of a run that is followed by another one is the same, but that launchers stay and say Idle.
#include <algorithm>
#include <utility>

#include "charmrun/node/node.hpp"
#include "tree/base/signals.hpp"

namespace charmtree {

using namespace proto;

/// A launcher deeper down gives up earlier, so that a silent host is named by its own parent.
Duration Node::child_slack() const {
  return std::max(kLeastSlack, kChildSlack - level_ * kSlackPerLevel);
}

void Node::end(const wire::End& message) {
  const bool kill = message.mode == wire::EndMode::kill;
  const bool first = ending_ == Ending::no;
  const bool for_good = stays_ && !message.stay;
  suspend(false);  // whoever is to end must be able to
  if (!first && !for_good && (!kill || killing_)) return;
  if (first || for_good) stays_ = message.stay;
  over_ = Over::no;
  end_ = message;
  hold_until_ = kNever;
  killing_ = kill;
  patient_ = message.mode == wire::EndMode::finish;
  nobody_reads_ = message.signal == signals::kBrokenPipe;
  const Duration grace = job_ && !kill ? job_->grace : Duration{0};
  give_up_at_ = earlier(give_up_at_, now_ + grace + child_slack());
  if (first || ending_ == Ending::asked) {
    ending_ = Ending::asked;
    kill_at_ = now_ + grace;
  }
  if (launch_) {
    if (first) launch_->stop(*out_);
    hand_down_all(message);
  }
  if (!processes_ || !first) return;
  own_stamps();
  Upward upward;
  processes_->finish(message.mode == wire::EndMode::stop ? message.signal : 0, now_, *out_, upward);
  tell_up(std::move(upward));
}

/// Nobody watches a launcher that knows of no job yet: it does so itself.
void Node::await_first_word() {
  if (desk_ || job_ || sweeper_ || first_word_ == kUnbounded) {
    first_word_by_ = kNever;
    return;
  }
  if (first_word_by_ == kNever) first_word_by_ = real_now_ + first_word_;
  if (real_now_ < first_word_by_) return;
  parent_gone_ = true;
  finish();
}

void Node::advance_ending() {
  if (ending_ == Ending::asked && now_ >= kill_at_) {
    ending_ = Ending::killed;
    kill_at_ = kNever;
    if (processes_) processes_->signal(signals::kKill, *out_);
  }
  if ((ending_ == Ending::asked || ending_ == Ending::killed) && (!processes_ || processes_->alive() == 0)) {
    kill_at_ = kNever;
    ending_ = processes_ ? Ending::sweeping : Ending::clean;
    if (processes_) clean_up({job_->id, self_.index});
  }
  if (ending_ == Ending::no || over_ != Over::no) return;
  bool waiting = output_is_waited_for() || ending_ != Ending::clean;
  if (launch_) {
    for (const auto& [link, child] : launch_->children())
      waiting = waiting || (child.open() && !(stays_ && child.stays()));
  }
  // What has come while we did not run ourselves is read first.
  if (now_ > give_up_at_ + kLate) give_up_at_ = now_ + kLate;
  if (waiting && now_ < give_up_at_) return;
  if (stays_)
    rest();
  else
    finish();
}

/// Of the root's job, or of a session's run; what is to be said about its end is said.
Finish Node::result() {
  const auto& verdict = desk_->judge().verdict();
  if (std::string line = desk_->judge().failures(); !line.empty())
    out_->push_back(Say{Tone::info, std::move(line)});
  if (std::string line = desk_->judge().decision().aftermath(); !line.empty())
    out_->push_back(Say{Tone::info, std::move(line)});
  if (!unconfirmed_.empty() && !job_->checkup)  // which leaves nothing behind
    out_->push_back(Say{Tone::error, desk_->names({unconfirmed_.begin(), unconfirmed_.end()}) +
                                         ": did not confirm that the job has ended there"});
  Finish end = verdict ? Finish{verdict->status, verdict->signal, verdict->why} : Finish{0, 0};
  end.why.restarts = job_->loss.restarts;
  end.why.silent = desk_->silent_at_end();
  end.why.ends = desk_->judge().ends();
  return end;
}

/// What is left of a run's output goes to the screen: that is waited for elsewhere.
void Node::show_rest() {
  output_->show_rest(*this);
}

/// The end of a job waits for output: as long as it moves, and if the job is done, for whoever reads it, too.
bool Node::output_is_waited_for() {
  const bool moved = output_ && output_->take_moved();
  if (killing_ || parent_gone_ || nobody_reads_ || !output_) return false;
  const bool held = patient_ && !output_->empty();
  if (moved || held) give_up_at_ = std::max(give_up_at_, now_ + child_slack());
  return !output_->empty();
}

void Node::finish() {
  first_word_by_ = kNever;
  if (processes_ && ending_ != Ending::clean) unconfirmed_.insert(self_.index);  // given up on our own host
  if (!desk_ && output_ && !output_->empty() && !killing_ && !nobody_reads_)
    out_->push_back(Say{Tone::info, "the rest of its output was not read in time, and is lost"});
  if (desk_) show_rest();
  if (launch_) trust_.tell_left_out(*launch_, *this, true);
  over_ = Over::finished;
  give_up_at_ = kill_at_ = kNever;
  hurry_facts();
  if (launch_) {
    for (const auto& [link, child] : launch_->children()) {
      if (!child.open()) continue;
      unconfirmed_.insert(child.host.index);
      if (child.state == Child::State::logging_in) out_->push_back(CancelLogin{link});
      if (child.state == Child::State::up) out_->push_back(CloseLink{link});
    }
  }
  if (desk_) {
    out_->push_back(result());
    return;
  }
  if (!parent_gone_ && !sweeper_)
    out_->push_back(Send{kParentLink, wire::Done{{unconfirmed_.begin(), unconfirmed_.end()}}});
  out_->push_back(Finish{0, 0});
}

}  // namespace charmtree
