// SPDX-License-Identifier: Apache-2.0
// A program that is started again over the tree that there is. The end of a run is the end of a job, but that
// launchers stay (node_ending.cpp); when everybody has said Idle, links carry nothing of it any more, so that
// the next run begins with a fresh RunState and needs no numbers of runs in messages. Whoever started a
// launcher that was lost meanwhile, logs in to its host once more, and to those below it.
#include <utility>

#include "charmrun/node/node.hpp"

namespace charmtree {

using namespace proto;

/// Whoever has not said so in time is not waited for any more.
void Node::rest() {
  if (processes_ && ending_ != Ending::clean) unconfirmed_.push_back(self_.index);
  launch_->give_up_busy(*out_, unconfirmed_);
  hurry_facts();
  ending_ = Ending::idle;
  give_up_at_ = kill_at_ = kNever;
  if (desk_)
    desk_->idle(std::exchange(unconfirmed_, {}), now_, *out_);
  else
    out_->push_back(Send{kParentLink, wire::Idle{std::exchange(unconfirmed_, {})}});
}

void Node::relaunch(const wire::Blob& blob) {
  if (ending_ != Ending::idle) return;
  auto job = wire::decode_job(*blob);
  if (!job || job->profiles.size() != job_->profiles.size() || job->id != job_->id)
    return lose_parent(nullptr);
  *job_ = std::move(*job);
  begin_run(blob);
}

void Node::begin_run(const wire::Blob& job) {
  auto screen = desk_ ? std::move(output_) : std::nullopt;  // what is on it has yet to be written
  static_cast<RunState&>(*this) = RunState{};
  if (desk_)
    output_ = std::move(screen);
  else
    output_.emplace(OutputGrants::kFirst, job_->spool);
  down_all(wire::Relaunch{job});
  wire::Facts news;
  if (job_->is_numbered_late()) self_.first_process = self_.processes = 0;
  launch_->begin_run(job, now_, *out_, news.hosts_failed);
  if (desk_) {
    sign_gate_.emplace(*job_, LaunchConfig{}.retries + 1);
  } else {
    processes_.emplace(job_, self_);
    processes_->prepare(*out_);
  }
  facts(std::move(news));
}

}  // namespace charmtree
