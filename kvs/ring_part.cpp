// SPDX-License-Identifier: Apache-2.0
#include "kvs/ring_part.hpp"

#include <algorithm>
#include <utility>

#include "tree/job/host_processes.hpp"
#include "tree/job/run_progress.hpp"
#include "tree/overlay/launch.hpp"
#include "tree/overlay/trust.hpp"

namespace charmtree::proto {

namespace {

std::vector<wire::ProcessSet::Range> ranges_of(const std::vector<wire::RingRun>& runs) {
  std::vector<wire::ProcessSet::Range> ranges;
  for (const wire::RingRun& run : runs) ranges.push_back({run.first, run.last});
  return ranges;
}

std::uint64_t processes_of(const Seat& seat) {
  const std::uint64_t here = seat.processes != nullptr ? seat.processes->local().size() : 0;
  return here + seat.launch.subtree().processes();
}

}  // namespace

/// Joined; of that child or of this host, one by one.
std::vector<wire::RingRun> RingPart::Open::runs(std::optional<LinkId> by) const {
  std::vector<wire::RingRun> runs;
  for (const auto& [first, each] : said) {
    if (!by || each.by == *by) runs.push_back(each.run);
  }
  return by ? runs : wire::joined(runs);
}

/// A child speaks once for each process that is below it, and is in no more rings than a process can be.
bool RingPart::may_say(LinkId link, const wire::RingUp& message, Turn& turn) const {
  const auto ranges = ranges_of(message.runs);
  if (ranges.empty()) return false;
  const auto by_link = turn.seat().launch.subtree().split(ranges);
  const auto theirs = by_link.find(link);
  if (theirs == by_link.end() || wire::size_of(theirs->second) != wire::size_of(ranges)) return false;
  std::size_t rings = 1;
  for (const auto& [number, open] : open_) {
    const auto runs = open.runs(link);
    rings += runs.empty() || number == message.number ? 0 : 1;
    if (number != message.number || runs.empty()) continue;
    const wire::ProcessSet said{ranges_of(runs)};
    if (wire::first_common(ranges, said)) return false;
  }
  return rings <= wire::kMostFencesAtOnce;
}

void RingPart::up(LinkId link, wire::RingUp message, Turn& turn) {
  begin_epoch(turn);
  if (message.epoch != epoch_) return;  // it is about to hear of ours, and will say it again
  may_say(link, message, turn) ? enter(link, message, turn) : turn.give_up(link, Trust::lie());
}

void RingPart::add(wire::RingUp own, Turn& turn) {
  begin_epoch(turn);
  enter(kParentLink, own, turn);
}

void RingPart::enter(LinkId by, const wire::RingUp& message, Turn& turn) {
  if (!turn.seat().progress.lost.empty()) return;
  Open& open = open_[message.number];
  for (const wire::RingRun& run : message.runs) open.said.emplace(run.first, Said{run, by});
}

void RingPart::begin_epoch(Turn& turn) {
  const std::uint32_t epoch = turn.seat().progress.epoch;
  if (std::exchange(epoch_, epoch) == epoch) return;
  for (const auto& [number, open] : std::exchange(open_, {}))
    enter(kParentLink, {number, epoch, open.runs(kParentLink)}, turn);
  if (last_) enter(kParentLink, *last_, turn);
}

void RingPart::turn(Turn& turn) {
  begin_epoch(turn);
  for (auto each = open_.begin(); each != open_.end();) {
    const auto next = std::next(each);
    if (!each->second.is_sent) hand_on(each->first, each->second, turn);
    each = next;
  }
}

void RingPart::hand_on(std::uint32_t number, Open& open, Turn& turn) {
  const Seat seat = turn.seat();
  std::vector<wire::RingRun> runs = open.runs();
  const std::uint64_t all = seat.is_root() ? seat.job.processes : processes_of(seat);
  if (wire::size_of(ranges_of(runs)) < all) return;
  if (seat.is_root()) {
    over(number, {wire::closed(runs.front())}, turn);
  } else if (turn.way_up() == WayUp::open) {
    open.is_sent = true;
    turn.hand_up(wire::RingUp{number, epoch_, std::move(runs)});
  }
}

/// One of an epoch that is over is void like what it answers.
std::optional<wire::RingDown> RingPart::down(const wire::RingDown& message, Turn& turn) {
  begin_epoch(turn);
  if (message.epoch != epoch_) return {};
  return over(message.number, message.ends, turn);
}

std::optional<wire::RingDown> RingPart::over(std::uint32_t number, const std::vector<wire::RingEnds>& ends,
                                             Turn& turn) {
  const auto found = open_.find(number);
  if (found == open_.end()) return {};
  const Open open = std::move(found->second);
  open_.erase(found);
  std::vector<wire::RingRun> runs;
  for (const auto& [first, each] : open.said) runs.push_back(each.run);
  const auto within = wire::ends_within(runs, open.runs(), ends);
  if (!within) return {};
  std::map<LinkId, wire::RingDown> answers;
  for (const wire::RingEnds& each : *within) {
    wire::RingDown& answer = answers[open.said.at(each.first).by];
    answer.number = number;
    answer.epoch = epoch_;
    answer.ends.push_back(each);
  }
  std::optional<wire::RingDown> own;
  for (auto& [link, answer] : answers)
    link == kParentLink ? void(own = std::move(answer)) : turn.hand_down_by(link, std::move(answer));
  if (own && turn.seat().job.keeps_alive()) last_ = wire::RingUp{number, epoch_, open.runs(kParentLink)};
  return own;
}

}  // namespace charmtree::proto
