// SPDX-License-Identifier: Apache-2.0
#include "kvs/fence_part.hpp"

#include <iterator>
#include <optional>
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
  static const LocalProcesses kNone;
  const LocalProcesses& local = seat.processes != nullptr ? seat.processes->local() : kNone;
  if (is_everybody(group, seat.job)) return std::uint64_t{local.size()} + subtree.processes();
  std::uint64_t size = local.count_among(group);
  for (const auto& [link, ranges] : subtree.split(group)) size += wire::size_of(ranges);
  return size;
}

const wire::Fence& fence_of(const FencePart::Pieces& pieces) {
  return pieces.front().fence;
}

std::size_t bytes_in(const FencePart::Pieces& pieces) {
  std::size_t bytes = fence_of(pieces).name.size();
  for (const wire::FenceDown& piece : pieces) bytes += piece.given ? piece.given->size() : 0;
  return bytes;
}

/// Those that may need a fence again: of this host and of several children together (kParentLink), or of one
/// child. Nothing: of neither.
struct Concerned {
  std::uint64_t share = kParentLink;
  std::size_t processes = 0;
};
std::optional<Concerned> concerned(const Ranges& group, const Seat& seat) {
  const Subtree& subtree = seat.launch.subtree();
  const LocalProcesses local = seat.processes != nullptr ? seat.processes->local() : LocalProcesses{};
  const std::size_t all = std::size_t{local.size()} + subtree.processes();
  if (is_everybody(group, seat.job)) return Concerned{kParentLink, all};
  const auto by_link = subtree.split(group);
  const bool is_here = !local.among(group).empty();
  if (!is_here && by_link.empty()) return {};
  if (is_here || by_link.size() > 1) return Concerned{kParentLink, all};
  const LinkId link = by_link.begin()->first;
  return Concerned{link, subtree.most_processes_of(link)};
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
  given.empty() ? given = std::move(more) : given += more;
}

FencePart::Open& FencePart::open(const wire::Fence& fence, Turn& turn) {
  const auto [place, is_new] = open_.try_emplace(fence);
  if (is_new) place->second.begun = turn.now();
  fresh_.insert(fence);
  return place->second;
}

FencePart::AllOpen::iterator FencePart::close(AllOpen::iterator open) {
  for (const auto& [link, given] : open->second.below) {
    Said& said = said_[link];
    --said.fences;
    said.bytes -= given.bytes;
  }
  fresh_.erase(open->first);
  return open_.erase(open);
}

/// A child is in a fence with the processes below it, once, and in no more fences than there can be.
bool FencePart::may_say(LinkId link, const wire::FenceUp& piece, Turn& turn) const {
  const Seat seat = turn.seat();
  const bool is_empty = piece.processes == 0 && piece.given.empty();
  if (is_empty || piece.fence.processes.back().last >= seat.job.processes) return false;
  const std::uint64_t most = below(link, piece.fence.processes, seat);
  const std::uint64_t most_here = seat.launch.subtree().most_processes_of(link);
  const auto found = said_.find(link);
  const Said said = found == said_.end() ? Said{} : found->second;
  std::uint64_t entered = piece.processes;
  if (const auto open = open_.find(piece.fence); open != open_.end()) {
    const auto given = open->second.below.find(link);
    entered += given == open->second.below.end() ? 0 : given->second.processes;
  }
  return most > 0 && entered <= most && said.fences < wire::kMostFencesAtOnce * most_here &&
         said.bytes + piece.given.size() <= kMostGivenAtOnce * wire::kMostGiven * most_here;
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
  const auto [given, is_first] = fence.below.try_emplace(link);
  given->second.processes += piece.processes;
  given->second.bytes += piece.given.size();
  Said& said = said_[link];
  said.fences += is_first ? 1 : 0;
  said.bytes += piece.given.size();
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
  fresh_.clear();
  said_.clear();
  for (auto& [fence, open] : std::exchange(open_, {})) {
    if (open.own) add(std::move(*open.own), turn);
  }
  last_.for_each([&](const wire::FenceUp& own) {
    if (!open_.contains(own.fence)) add(own, turn);
  });
}

/// How it has ended; at the root also how it must end.
FencePart::Pieces FencePart::answer(const wire::Fence& fence, Turn& turn) const {
  const Seat seat = turn.seat();
  if (const Pieces* over = over_.find(fence)) return *over;
  std::string failure = loss_of(fence, seat.progress.lost);
  if (failure.empty() || !seat.is_root()) return {};
  return {{fence, std::move(failure), std::make_shared<const std::string>()}};
}

void FencePart::keep(const Pieces& over, Turn& turn) {
  const Seat seat = turn.seat();
  if (!seat.job.repairs()) return;
  const auto those = concerned(fence_of(over).processes, seat);
  if (those) over_.keep(fence_of(over), over, those->share, bytes_in(over), most_kept(those->processes));
}

/// Only to children below which a process of the group is: the fences of some hosts fill no link to another
/// one. A child that is in the group itself enters no further fence while it takes nothing (LinkFlow).
void FencePart::hand_down(const wire::FenceDown& piece, Turn& turn) {
  const Seat seat = turn.seat();
  const Ranges& group = piece.fence.processes;
  if (is_everybody(group, seat.job)) return turn.hand_down_all(piece);
  for (const auto& [link, ranges] : seat.launch.subtree().split(group)) turn.hand_down_by(link, piece);
}

/// Pieces come in their order; of one that has come over two ways the second begins anew.
FencePart::Pieces FencePart::down(const wire::FenceDown& piece, Turn& turn) {
  hand_down(piece, turn);
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
  // Also what is left of those before it, which nobody awaits.
  for (auto each = arriving_.lower_bound(piece.fence.first()); each != arriving_.end() &&
                                                               each->first.same_group(piece.fence) &&
                                                               each->first.number <= piece.fence.number;)
    each = arriving_.erase(each);
  over(whole, turn);
  return whole;
}

/// Of one that has failed, another host may still wait for the end of one before it.
void FencePart::over(const Pieces& pieces, Turn& turn) {
  const wire::Fence& fence = fence_of(pieces);
  const bool is_good = pieces.front().failure.empty();
  if (is_good) keep(pieces, turn);
  const Seat seat = turn.seat();
  const auto found = open_.find(fence);
  if (found != open_.end() && found->second.own && is_good && seat.job.keeps_alive()) {
    wire::FenceUp own = std::move(*found->second.own);
    const std::size_t bytes = own.fence.name.size() + own.given.size();
    const std::size_t here = seat.processes != nullptr ? seat.processes->local().size() : 1;
    last_.keep(fence, std::move(own), kParentLink, bytes, most_kept(here));
  }
  for (auto each = open_.lower_bound(fence.first());
       each != open_.end() && each->first.same_group(fence) && each->first.number <= fence.number;)
    each = is_good || each->first.number == fence.number ? close(each) : std::next(each);
}

void FencePart::turn(Turn& turn) {
  begin_epoch(turn);
  const std::uint32_t below = turn.seat().launch.subtree().processes();
  if (std::exchange(below_, below) > below) {  // whoever was waited for may be another's now
    for (const auto& [fence, open] : open_) {
      if (open.entered > open.sent) fresh_.insert(fence);
    }
  }
  for (const wire::Fence& fence : std::exchange(fresh_, {})) {
    if (const auto open = open_.find(fence); open != open_.end()) hand_on(fence, open->second, turn);
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
  close(open_.find(fence));
  for (const wire::FenceDown& piece : pieces) hand_down(piece, turn);
  keep(pieces, turn);
}

}  // namespace charmtree::proto
