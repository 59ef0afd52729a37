// SPDX-License-Identifier: Apache-2.0
// A program that is started again over the tree that there is. The end of a run is the end of a job, but that
// launchers stay (node_ending.cpp); when everybody has said Idle, links carry nothing of it any more, so that
// the next run begins with a fresh RunState and needs no numbers of runs in messages. Whoever started a
// launcher that was lost meanwhile, logs in to its host once more, and to those below it.
//
// Where the end of the old run is not confirmed by then, on our own host or below a launcher that was lost or
// too slow, clean-up goes on, and what it comes to is told upwards. Such a host takes no part in the next
// run.
#include <utility>

#include "charmrun/node/node.hpp"

namespace charmtree {

using namespace proto;

/// Whoever has not said so in time is lost, too.
void Node::rest() {
  std::vector<LinkId> busy;
  for (const auto& [link, child] : launch_->children()) {
    if (child.serves() && !child.stays()) busy.push_back(link);
  }
  for (const LinkId link : busy) {
    may_outlive_us(launch_->children().at(link));
    give_up(link, {Errc::timed_out, Phase::run, "its processes did not end in time", {}});
  }
  for (const auto& [link, child] : launch_->children()) {
    if (child.open() && !child.stays()) unconfirmed_.insert(child.host.index);
  }
  if (processes_ && ending_ != Ending::clean) {
    unconfirmed_.insert(self_.index);
    unbounded_.insert(self_.index);
  }
  hurry_facts();
  over_ = Over::idle;
  give_up_at_ = kill_at_ = kNever;
  if (!desk_) return tell_idle();
  desk_->idle(unconfirmed_, unbounded_, now_, *out_);
  if (!desk_->awaits_run()) return;
  show_rest();
  out_->push_back(RunOver{result()});
}

/// Of a session whose run is over.
void Node::handle(const NextRun& event) {
  if (!desk_ || over_ != Over::idle || !desk_->awaits_run()) return;
  desk_ = desk_->next_run(*event.plan, now_);
  output_.reset();  // nothing is on this run's screen
  begin_run(desk_->coded_job());
}

void Node::handle(const SessionEnds& event) {
  if (desk_ && job_->session) desk_->end_session(event.signal);
}

/// Again when a launcher is lost meanwhile. Nothing of the run is lost with it, and who has begun the next
/// one does not listen any more: it looks for lost launchers itself.
void Node::tell_idle() {
  if (desk_) return desk_->lost_idle();
  out_->push_back(Send{kParentLink, wire::Idle{{unconfirmed_.begin(), unconfirmed_.end()},
                                               {unbounded_.begin(), unbounded_.end()}}});
}

/// Its link is not known to be dead at the other end, or its launcher to run: nobody there need ever notice
/// that he is alone, nor below it.
void Node::may_outlive_us(const Child& child) {
  unbounded_.insert(child.host.index);
  for (const auto& [index, host] : child.below) unbounded_.insert(index);
}

void Node::confirm(std::vector<std::uint32_t> hosts) {
  for (const std::uint32_t host : hosts) unconfirmed_.erase(host);
  if (over_ != Over::idle) return;
  if (desk_)
    desk_->confirmed(hosts);
  else
    out_->push_back(Send{kParentLink, wire::Confirmed{std::move(hosts)}});
}

void Node::clean_up(KillLeftovers order) {
  clean_up_ = std::move(order);
  out_->push_back(*clean_up_);
}

void Node::relaunch(const wire::Blob& blob) {
  if (over_ != Over::idle) return;
  auto job = wire::decode_job(*blob);
  if (!job || job->profiles.size() != job_->profiles.size() || job->id != job_->id)
    return lose_parent(nullptr);
  *job_ = std::move(*job);
  begin_run(blob);
}

void Node::begin_run(const wire::Blob& job) {
  const std::set<std::uint32_t> unconfirmed = std::exchange(unconfirmed_, {});
  static_cast<RunState&>(*this) = RunState{};
  begin_output();
  hand_down_all(wire::Relaunch{job});
  Upward news;
  if (job_->is_numbered_late()) self_.first_process = self_.processes = 0;
  if (desk_) signing_.begin_run();
  launch_->begin_run(job, unconfirmed, now_, *out_, news.facts.hosts_failed);
  if (!desk_) {
    make_processes();
    if (unconfirmed.contains(self_.index)) {  // what the shell hears of the old ones is for nobody
      Prepared not_ready;
      not_ready.ok = false;
      not_ready.error = {Errc::internal, Phase::run, "what the last run left there cannot be killed", {}};
      processes_->on(not_ready, now_, *out_, news);
    } else {
      processes_->prepare(*out_);
    }
  }
  tell_up(std::move(news));
}

/// What is on the user's screen is of all runs.
void Node::begin_output() {
  using Place = OutputPart::Place;
  if (desk_ && output_)
    output_->begin_run(*job_);
  else
    output_.emplace(desk_ ? Place::root : Place::below, *job_);
}

}  // namespace charmtree
