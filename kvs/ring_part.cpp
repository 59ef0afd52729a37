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
  ranges.reserve(runs.size());
  for (const wire::RingRun& run : runs) ranges.push_back({run.first, run.last});
  return ranges;
}

std::uint64_t processes_of(const Seat& seat) {
  const std::uint64_t here = seat.processes != nullptr ? seat.processes->local().size() : 0;
  return here + seat.launch.subtree().processes();
}

}  // namespace

bool RingPart::Open::contains_any(const wire::RingRun& run) const {
  const auto behind = said.upper_bound(run.last);
  return behind != said.begin() && std::prev(behind)->second.run.last >= run.first;
}

std::vector<wire::RingRun> RingPart::Open::runs() const {
  std::vector<wire::RingRun> runs;
  for (const auto& [first, each] : said) runs.push_back(each.run);
  return runs;
}

std::vector<wire::RingRun> RingPart::Open::runs(LinkId by) const {
  std::vector<wire::RingRun> runs;
  for (const auto& [first, each] : said) {
    if (each.by == by) runs.push_back(each.run);
  }
  return runs;
}

/// A child speaks once for each process that is below it.
bool RingPart::may_say(LinkId link, const wire::RingUp& message, Turn& turn) const {
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
  if (message.runs.empty() || !turn.seat().progress.lost.empty()) return;
  Open& open = open_[message.number];
  open.links.insert(by);
  open.processes += wire::size_of(ranges_of(message.runs));
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
    hand_on(each->first, each->second, turn);
    each = next;
  }
}

/// What is below may become more later: then that is said by itself.
void RingPart::hand_on(std::uint32_t number, Open& open, Turn& turn) {
  const Seat seat = turn.seat();
  const std::uint64_t all = seat.is_root() ? seat.job.processes : processes_of(seat);
  if (open.processes < all || open.processes == open.sent_processes) return;
  if (seat.is_root()) {
    const auto whole = wire::joined(open.runs());
    over(number, whole, {wire::closed(whole.front())}, turn);
  } else if (turn.way_up() == WayUp::open) {
    std::vector<wire::RingRun> runs;
    for (auto& [first, each] : open.said) {
      if (!std::exchange(each.is_sent, true)) runs.push_back(each.run);
    }
    runs = wire::joined(runs);
    open.sent.insert(open.sent.end(), runs.begin(), runs.end());
    open.sent_processes = open.processes;
    turn.hand_up(wire::RingUp{number, epoch_, std::move(runs)});
  }
}

/// One of an epoch that is over is void like what it answers.
std::optional<wire::RingDown> RingPart::down(const wire::RingDown& message, Turn& turn) {
  begin_epoch(turn);
  const auto found = open_.find(message.number);
  if (message.epoch != epoch_ || found == open_.end()) return {};
  std::vector<wire::RingRun> all = std::move(found->second.sent);
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return over(message.number, all, message.ends, turn);
}

/// `all`: what has the ends. Those before this ring are over, too.
std::optional<wire::RingDown> RingPart::over(std::uint32_t number, const std::vector<wire::RingRun>& all,
                                             const std::vector<wire::RingEnds>& ends, Turn& turn) {
  const Open open = std::move(open_.at(number));
  open_.erase(open_.begin(), open_.upper_bound(number));
  const auto within = wire::ends_within(open.runs(), all, ends);
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
  const wire::JobSpec& job = turn.seat().job;
  if (own && (job.repairs() || job.keeps_alive()))
    last_ = wire::RingUp{number, epoch_, open.runs(kParentLink)};
  return own;
}

}  // namespace charmtree::proto
