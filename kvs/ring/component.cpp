// SPDX-License-Identifier: Apache-2.0
#include "kvs/ring/component.hpp"

#include <algorithm>
#include <utility>

#include "tree/job/host_processes.hpp"
#include "tree/job/run_progress.hpp"
#include "tree/overlay/launch.hpp"
#include "tree/overlay/trust.hpp"

namespace charmtree::kvs {

using namespace proto;

namespace {

std::vector<wire::ProcessSet::Range> ranges_of(const std::vector<wire::RingRun>& runs) {
  std::vector<wire::ProcessSet::Range> ranges;
  ranges.reserve(runs.size());
  for (const wire::RingRun& run : runs) ranges.push_back({run.first, run.last});
  return ranges;
}

std::uint64_t processes_of(const Seat& seat) {
  const std::uint64_t here = seat.processes != nullptr ? seat.processes->local().size() : 0;
  return here + seat.launch.subtree().processes();
}

}  // namespace

bool RingComponent::Open::contains_any(const wire::RingRun& run) const {
  const auto behind = runs_by_first.upper_bound(run.last);
  return behind != runs_by_first.begin() && std::prev(behind)->second.run.last >= run.first;
}

std::vector<wire::RingRun> RingComponent::Open::runs() const {
  std::vector<wire::RingRun> runs;
  for (const auto& [first, each] : runs_by_first) runs.push_back(each.run);
  return runs;
}

std::vector<wire::RingRun> RingComponent::Open::runs(LinkId by) const {
  std::vector<wire::RingRun> runs;
  for (const auto& [first, each] : runs_by_first) {
    if (each.by == by) runs.push_back(each.run);
  }
  return runs;
}

/// Checks that a child enters a ring once for each process below it.
bool RingComponent::is_allowed(LinkId link, const RingUp& message, Turn& turn) const {
  const auto ranges = ranges_of(message.runs);
  if (ranges.empty()) return false;
  const auto by_link = turn.seat().launch.subtree().split(ranges);
  const auto theirs = by_link.find(link);
  if (theirs == by_link.end() || wire::size_of(theirs->second) != wire::size_of(ranges)) return false;
  const auto rings = std::count_if(open_.begin(), open_.end(), [&](const auto& each) {
    return each.first != message.number && each.second.links.contains(link);
  });
  if (static_cast<std::size_t>(rings) >= kMostAtOnce) return false;
  const auto open = open_.find(message.number);
  return open == open_.end() ||
         std::none_of(message.runs.begin(), message.runs.end(),
                      [&](const wire::RingRun& run) { return open->second.contains_any(run); });
}

void RingComponent::up(LinkId link, const RingUp& message, Turn& turn) {
  begin_epoch(turn);
  if (message.epoch != epoch_) return;  // the child is about to receive ours, and enters again
  if (!is_allowed(link, message, turn)) return turn.give_up(link, Trust::lie());
  enter(link, message.number, message.runs, turn);
}

void RingComponent::on(const RingEntered& own, Turn& turn) {
  begin_epoch(turn);
  enter(kParentLink, own.number, own.runs, turn);
}

void RingComponent::enter(LinkId by, std::uint32_t number, const std::vector<wire::RingRun>& runs,
                          Turn& turn) {
  if (runs.empty() || !turn.seat().progress.lost.empty()) return;
  Open& open = open_[number];
  open.links.insert(by);
  open.processes += wire::size_of(ranges_of(runs));
  for (const wire::RingRun& run : runs) open.runs_by_first.emplace(run.first, Entered{run, by});
}

void RingComponent::begin_epoch(Turn& turn) {
  const std::uint32_t epoch = turn.seat().progress.epoch;
  if (std::exchange(epoch_, epoch) == epoch) return;
  for (const auto& [number, open] : std::exchange(open_, {}))
    enter(kParentLink, number, open.runs(kParentLink), turn);
  if (last_) enter(kParentLink, last_->number, last_->runs, turn);
}

void RingComponent::turn(Turn& turn) {
  begin_epoch(turn);
  for (auto each = open_.begin(); each != open_.end();) {
    const auto next = std::next(each);
    hand_on(each->first, each->second, turn);
    each = next;
  }
}

/// Processes that come to be below later are sent in a message of their own.
void RingComponent::hand_on(std::uint32_t number, Open& open, Turn& turn) {
  const Seat seat = turn.seat();
  const std::uint64_t all = seat.is_root() ? seat.job.processes : processes_of(seat);
  if (open.processes < all || open.processes == open.sent_processes) return;
  if (seat.is_root()) {
    const auto whole = wire::joined(open.runs());
    over(number, whole, {wire::closed(whole.front())}, turn);
  } else if (turn.way_up() == WayUp::open) {
    std::vector<wire::RingRun> runs;
    for (auto& [first, each] : open.runs_by_first) {
      if (!std::exchange(each.is_sent, true)) runs.push_back(each.run);
    }
    runs = wire::joined(runs);
    open.sent.insert(open.sent.end(), runs.begin(), runs.end());
    open.sent_processes = open.processes;
    turn.hand_up(RingUp{number, epoch_, std::move(runs)});
  }
}

/// The end of a ring of an older epoch is void, like the entries that it answers.
void RingComponent::down(const RingDown& message, Turn& turn) {
  begin_epoch(turn);
  const auto found = open_.find(message.number);
  if (message.epoch != epoch_ || found == open_.end()) return;
  std::vector<wire::RingRun> all = std::move(found->second.sent);
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  over(message.number, all, message.ends, turn);
}

/// `ends` belong to the runs in `all`. Earlier rings are over, too.
void RingComponent::over(std::uint32_t number, const std::vector<wire::RingRun>& all,
                         const std::vector<wire::RingEnds>& ends, Turn& turn) {
  const Open open = std::move(open_.at(number));
  open_.erase(open_.begin(), open_.upper_bound(number));
  const auto within = wire::ends_within(open.runs(), all, ends);
  if (!within) return;
  std::map<LinkId, RingDown> answers;
  for (const wire::RingEnds& each : *within) {
    RingDown& answer = answers[open.runs_by_first.at(each.first).by];
    answer.number = number;
    answer.epoch = epoch_;
    answer.ends.push_back(each);
  }
  std::optional<RingDone> own;
  for (auto& [link, answer] : answers) {
    if (link == kParentLink)
      own = RingDone{number, std::move(answer.ends)};
    else
      turn.hand_down_by(link, std::move(answer));
  }
  if (!own) return;
  const wire::JobSpec& job = turn.seat().job;
  if (job.repairs() || job.keeps_alive()) last_ = RingEntered{number, open.runs(kParentLink)};
  turn.tell(*own);
}

}  // namespace charmtree::kvs
