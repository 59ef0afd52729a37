// SPDX-License-Identifier: Apache-2.0
#include "kvs/fence_part.hpp"

#include <algorithm>
#include <utility>

#include "kvs/given.hpp"
#include "tree/clients/group_fences.hpp"
#include "tree/job/host_processes.hpp"
#include "tree/job/run_progress.hpp"
#include "tree/overlay/launch.hpp"
#include "tree/overlay/trust.hpp"

namespace charmtree::proto {

namespace {

using Ranges = std::vector<wire::ProcessSet::Range>;

bool is_everybody(const Ranges& ranges, const wire::JobSpec& job) {
  return wire::size_of(ranges) == job.processes;
}

/// Those of the group that are behind this link.
std::uint64_t below(LinkId link, const Ranges& group, const Seat& seat) {
  const Subtree& subtree = seat.launch.subtree();
  if (is_everybody(group, seat.job)) return subtree.most_processes_of(link);
  const auto by_link = subtree.split(group);
  const auto found = by_link.find(link);
  return found == by_link.end() ? 0 : wire::size_of(found->second);
}

/// Those of the group that are here or below.
std::uint64_t here_and_below(const Ranges& group, const Seat& seat) {
  const Subtree& subtree = seat.launch.subtree();
  const LocalProcesses local = seat.processes != nullptr ? seat.processes->local() : LocalProcesses{};
  if (is_everybody(group, seat.job)) return std::uint64_t{local.size()} + subtree.processes();
  std::uint64_t size = local.among(group).size();
  for (const auto& [link, ranges] : subtree.split(group)) size += wire::size_of(ranges);
  return size;
}

const wire::Fence& fence_of(const wire::FenceUp& own) {
  return own.fence;
}
const wire::Fence& fence_of(const FencePart::Pieces& pieces) {
  return pieces.front().fence;
}

/// In the place of the last one of its group.
template <class M>
void replace(std::vector<M>& all, M one) {
  std::erase_if(all, [&](const M& each) { return fence_of(each).same_group(fence_of(one)); });
  all.push_back(std::move(one));
}

template <class F>
void in_pieces(const std::string& whole, F&& act) {
  for (std::size_t at = 0;; at += FencePart::kMostPiece) {
    const bool more = whole.size() - at > FencePart::kMostPiece;
    act(at, whole.substr(at, FencePart::kMostPiece), more);
    if (!more) return;
  }
}

FencePart::Pieces pieces_of(const wire::Fence& fence, const std::string& packed) {
  FencePart::Pieces pieces;
  in_pieces(packed, [&](std::size_t at, std::string piece, bool more) {
    pieces.push_back({fence, {}, std::make_shared<const std::string>(std::move(piece)), at, more});
  });
  return pieces;
}

}  // namespace

void FencePart::Open::enter(std::uint32_t processes, std::uint64_t asked, std::string more) {
  entered += processes;
  requests += asked;
  is_new = true;
  given.empty() ? given = std::move(more) : given += more;
}

FencePart::Open& FencePart::open(const wire::Fence& fence, Turn& turn) {
  const auto [place, is_new] = open_.try_emplace(fence);
  if (is_new) place->second.begun = turn.now();
  return place->second;
}

/// A child is in a fence with the processes below it, once, and in no more fences than there can be.
bool FencePart::may_say(LinkId link, const wire::FenceUp& piece, Turn& turn) const {
  const Seat seat = turn.seat();
  const bool is_empty = piece.processes == 0 && piece.given.empty();
  if (is_empty || piece.fence.processes.back().last >= seat.job.processes) return false;
  const std::uint64_t most = below(link, piece.fence.processes, seat);
  const std::uint64_t most_here = seat.launch.subtree().most_processes_of(link);
  std::size_t fences = 0, bytes = piece.given.size();
  std::uint64_t entered = piece.processes;
  for (const auto& [fence, open] : open_) {
    const auto found = open.below.find(link);
    if (found == open.below.end()) continue;
    ++fences;
    bytes += found->second.bytes;
    if (fence == piece.fence) entered += found->second.processes;
  }
  return most > 0 && entered <= most && fences < wire::kMostFencesAtOnce * most_here &&
         bytes <= kMostGivenAtOnce * wire::kMostGiven * most_here;
}

void FencePart::up(LinkId link, wire::FenceUp piece, Turn& turn) {
  begin_epoch(turn);
  if (piece.epoch != epoch_) return;  // it is about to hear of ours, and will say it again
  if (!may_say(link, piece, turn)) return turn.give_up(link, Trust::lie());
  if (Pieces known = answer(piece.fence, turn); !known.empty()) {
    for (wire::FenceDown& each : known) turn.hand_down_by(link, std::move(each));
    const Seat seat = turn.seat();  // a root that has taken over may not know it yet
    if (seat.is_root() || !seat.job.keeps_alive()) return;
  }
  Open& fence = open(piece.fence, turn);
  Given& given = fence.below[link];
  given.processes += piece.processes;
  given.bytes += piece.given.size();
  fence.enter(piece.processes, piece.requests, std::move(piece.given));
}

void FencePart::add(wire::FenceUp own, Turn& turn) {
  begin_epoch(turn);
  Open& fence = open(own.fence, turn);
  fence.enter(own.processes, own.requests, own.given);
  fence.own = std::move(own);
}

void FencePart::begin_epoch(Turn& turn) {
  const std::uint32_t epoch = turn.seat().progress.epoch;
  if (std::exchange(epoch_, epoch) != epoch) open_again(turn);
}

void FencePart::open_again(Turn& turn) {
  for (auto& [fence, open] : std::exchange(open_, {})) {
    if (open.own) add(std::move(*open.own), turn);
  }
  for (const wire::FenceUp& own : last_) {
    if (!open_.contains(own.fence)) add(own, turn);
  }
}

/// How it has ended; at the root also how it must end.
FencePart::Pieces FencePart::answer(const wire::Fence& fence, Turn& turn) const {
  const Seat seat = turn.seat();
  for (const Pieces& over : over_) {
    if (fence_of(over).same_group(fence) && fence.number <= fence_of(over).number) return over;
  }
  std::string failure = loss_of(fence, seat.progress.lost);
  if (failure.empty() || !seat.is_root()) return {};
  return {{fence, std::move(failure), std::make_shared<const std::string>()}};
}

void FencePart::keep(const Pieces& over, Turn& turn) {
  if (turn.seat().job.repairs()) replace(over_, over);
}

/// Pieces come in their order; of one that has come over two ways the second begins anew.
FencePart::Pieces FencePart::down(const wire::FenceDown& piece, Turn& turn) {
  if (!piece.failure.empty() || !piece.given) {
    over({piece}, turn);
    return {piece};
  }
  Pieces& pieces = arriving_[piece.fence];
  if (piece.offset == 0) pieces.clear();
  const std::size_t there = pieces.empty() ? 0 : pieces.back().offset + pieces.back().given->size();
  if (piece.offset != there) return {};
  pieces.push_back(piece);
  if (piece.more) return {};
  Pieces whole = std::move(pieces);
  std::erase_if(arriving_, [&](const auto& each) {  // what is left of one before it, which nobody awaits
    return each.first.same_group(piece.fence) && each.first.number <= piece.fence.number;
  });
  over(whole, turn);
  return whole;
}

/// Of one that has failed, another host may still wait for the end of one before it.
void FencePart::over(const Pieces& pieces, Turn& turn) {
  const wire::Fence& fence = fence_of(pieces);
  const bool is_good = pieces.front().failure.empty();
  if (is_good) keep(pieces, turn);
  const auto found = open_.find(fence);
  if (found != open_.end() && found->second.own && is_good && turn.seat().job.keeps_alive())
    replace(last_, std::move(*found->second.own));
  std::erase_if(open_, [&](const auto& each) {
    const std::uint32_t number = each.first.number;
    return each.first.same_group(fence) && (is_good ? number <= fence.number : number == fence.number);
  });
}

void FencePart::turn(Turn& turn) {
  begin_epoch(turn);
  const std::uint32_t below = turn.seat().launch.subtree().processes();
  if (std::exchange(below_, below) > below) {  // whoever was waited for may be another's now
    for (auto& [fence, open] : open_) open.is_new = open.is_new || open.entered > open.sent;
  }
  for (auto each = open_.begin(); each != open_.end();) {
    const auto next = std::next(each);
    if (std::exchange(each->second.is_new, false)) hand_on(each->first, each->second, turn);
    each = next;
  }
}

void FencePart::hand_on(const wire::Fence& fence, Open& open, Turn& turn) {
  const Seat seat = turn.seat();
  if (!seat.is_root()) {
    const bool fails = !loss_of(fence, seat.progress.lost).empty();  // which the root says
    const bool complete = fails || open.entered >= here_and_below(fence.processes, seat);
    if (!complete || turn.way_up() != WayUp::open) return;
    in_pieces(std::exchange(open.given, {}), [&](std::size_t, std::string piece, bool more) {
      wire::FenceUp up{fence, epoch_, 0, std::move(piece)};
      if (!more) up.processes = open.entered - open.sent;
      if (!more) up.requests = std::exchange(open.requests, 0);
      turn.hand_up(std::move(up));
    });
    open.sent = open.entered;
    return;
  }
  if (open.entered < wire::size_of(fence.processes)) return;
  const Pieces pieces = pieces_of(fence, pack_given(open.given));
  if (seat.job.reports.stamps)
    turn.act(FenceOver{fence, open.requests, open.given.size(), open.begun, turn.now()});
  open_.erase(fence_of(pieces));
  for (const wire::FenceDown& piece : pieces) turn.hand_down_all(piece);
  keep(pieces, turn);
}

}  // namespace charmtree::proto
