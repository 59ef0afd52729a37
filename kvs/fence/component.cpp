// SPDX-License-Identifier: Apache-2.0
#include "kvs/fence/component.hpp"

#include <iterator>
#include <optional>
#include <utility>

#include "kvs/fence/given.hpp"
#include "tree/clients/group_fences.hpp"
#include "tree/job/host_processes.hpp"
#include "tree/job/run_progress.hpp"
#include "tree/overlay/launch.hpp"
#include "tree/overlay/trust.hpp"

namespace charmtree::kvs {

using namespace proto;

namespace {

using Ranges = std::vector<wire::ProcessSet::Range>;

bool is_everybody(const Ranges& ranges, const wire::JobSpec& job) {
  return wire::size_of(ranges) == job.processes;
}

/// Counts the processes of the group that are below this link.
std::uint64_t below(LinkId link, const Ranges& group, const Seat& seat) {
  const Subtree& subtree = seat.launch.subtree();
  if (is_everybody(group, seat.job)) return subtree.most_processes_of(link);
  const auto by_link = subtree.split(group);
  const auto found = by_link.find(link);
  return found == by_link.end() ? 0 : wire::size_of(found->second);
}

/// Counts the processes of the group that are here or below.
std::uint64_t here_and_below(const Ranges& group, const Seat& seat) {
  const Subtree& subtree = seat.launch.subtree();
  static const LocalProcesses kNone;
  const LocalProcesses& local = seat.processes != nullptr ? seat.processes->local() : kNone;
  if (is_everybody(group, seat.job)) return std::uint64_t{local.size()} + subtree.processes();
  std::uint64_t size = local.count_among(group);
  for (const auto& [link, ranges] : subtree.split(group)) size += wire::size_of(ranges);
  return size;
}

const wire::Fence& fence_of(const FenceComponent::Pieces& pieces) {
  return pieces.front().fence;
}

std::size_t bytes_in(const FenceComponent::Pieces& pieces) {
  std::size_t bytes = fence_of(pieces).name.size();
  for (const FenceDown& piece : pieces) bytes += piece.given ? piece.given->size() : 0;
  return bytes;
}

/// The processes that may enter a fence again: those of one child (share: its link), or those of this host
/// and of several children together (share: kParentLink).
struct Concerned {
  std::uint64_t share = kParentLink;
  std::size_t processes = 0;
};
/// Returns nothing if no process of the group is here or below.
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
  for (std::size_t at = 0;; at += FenceComponent::kMostPiece) {
    const bool more = whole.size() - at > FenceComponent::kMostPiece;
    act(at, whole.substr(at, FenceComponent::kMostPiece), more);
    if (!more) return;
  }
}

FenceComponent::Pieces pieces_of(const wire::Fence& fence, const std::string& packed) {
  FenceComponent::Pieces pieces;
  in_pieces(packed, [&](std::size_t at, std::string piece, bool more) {
    pieces.push_back({fence, {}, std::make_shared<const std::string>(std::move(piece)), at, more});
  });
  return pieces;
}

}  // namespace

void FenceComponent::Open::enter(std::uint32_t processes, std::uint64_t asked, std::string more) {
  entered += processes;
  requests += asked;
  given.empty() ? given = std::move(more) : given += more;
}

FenceComponent::Open& FenceComponent::open(const wire::Fence& fence, Turn& turn) {
  const auto [place, is_new] = open_.try_emplace(fence);
  if (is_new) place->second.begun = turn.now();
  fresh_.insert(fence);
  return place->second;
}

FenceComponent::AllOpen::iterator FenceComponent::close(AllOpen::iterator open) {
  for (const auto& [link, given] : open->second.below) {
    Total& total = totals_[link];
    --total.fences;
    total.bytes -= given.bytes;
  }
  fresh_.erase(open->first);
  return open_.erase(open);
}

/// Checks that a child enters a fence once for each process below it, and no more fences than these can be
/// in.
bool FenceComponent::is_allowed(LinkId link, const FenceUp& piece, Turn& turn) const {
  const Seat seat = turn.seat();
  const bool is_empty = piece.processes == 0 && piece.given.empty();
  if (is_empty || piece.fence.processes.back().last >= seat.job.processes) return false;
  const std::uint64_t most = below(link, piece.fence.processes, seat);
  const std::uint64_t most_here = seat.launch.subtree().most_processes_of(link);
  const auto found = totals_.find(link);
  const Total total = found == totals_.end() ? Total{} : found->second;
  std::uint64_t entered = piece.processes;
  if (const auto open = open_.find(piece.fence); open != open_.end()) {
    const auto given = open->second.below.find(link);
    entered += given == open->second.below.end() ? 0 : given->second.processes;
  }
  return most > 0 && entered <= most && total.fences < wire::kMostFencesAtOnce * most_here &&
         total.bytes + piece.given.size() <= kMostGivenAtOnce * wire::kMostGiven * most_here;
}

void FenceComponent::up(LinkId link, FenceUp piece, Turn& turn) {
  begin_epoch(turn);
  if (piece.epoch != epoch_) return;  // the child is about to receive ours, and enters again
  if (!is_allowed(link, piece, turn)) return turn.give_up(link, Trust::lie());
  if (Pieces known = answer(piece.fence, turn); !known.empty()) {
    for (FenceDown& each : known) turn.hand_down_by(link, std::move(each));
    const Seat seat = turn.seat();  // a root that has taken over may not know this fence
    if (seat.is_root() || !seat.job.keeps_alive()) return;
  }
  Open& fence = open(piece.fence, turn);
  const auto [given, is_first] = fence.below.try_emplace(link);
  given->second.processes += piece.processes;
  given->second.bytes += piece.given.size();
  Total& total = totals_[link];
  total.fences += is_first ? 1 : 0;
  total.bytes += piece.given.size();
  fence.enter(piece.processes, piece.requests, std::move(piece.given));
}

void FenceComponent::on(const FenceEntered& own, Turn& turn) {
  begin_epoch(turn);
  Open& fence = open(own.fence, turn);
  fence.enter(own.processes, own.requests, own.given);
  fence.own = own;
}

void FenceComponent::begin_epoch(Turn& turn) {
  const std::uint32_t epoch = turn.seat().progress.epoch;
  if (std::exchange(epoch_, epoch) != epoch) open_again(turn);
}

void FenceComponent::open_again(Turn& turn) {
  fresh_.clear();
  totals_.clear();
  for (auto& [fence, open] : std::exchange(open_, {})) {
    if (open.own) on(*open.own, turn);
  }
  last_.for_each([&](const FenceEntered& own) {
    if (!open_.contains(own.fence)) on(own, turn);
  });
}

/// Returns the end of a finished fence; at the root also the end of one that must fail.
FenceComponent::Pieces FenceComponent::answer(const wire::Fence& fence, Turn& turn) const {
  const Seat seat = turn.seat();
  if (const Pieces* over = over_.find(fence)) return *over;
  std::string failure = loss_of(fence, seat.progress.lost);
  if (failure.empty() || !seat.is_root()) return {};
  return {{fence, std::move(failure), std::make_shared<const std::string>()}};
}

void FenceComponent::keep(const Pieces& over, Turn& turn) {
  const Seat seat = turn.seat();
  if (!seat.job.repairs()) return;
  const auto those = concerned(fence_of(over).processes, seat);
  if (those) over_.keep(fence_of(over), over, those->share, bytes_in(over), most_kept(those->processes));
}

/// Sends the piece to the children below which a process of the group is, so that fences of some hosts fill
/// no link to other hosts. A child in the group that reads nothing enters no further fence (LinkFlow).
void FenceComponent::hand_down(const FenceDown& piece, Turn& turn) {
  const Seat seat = turn.seat();
  const Ranges& group = piece.fence.processes;
  if (is_everybody(group, seat.job)) return turn.hand_down_all(piece);
  for (const auto& [link, ranges] : seat.launch.subtree().split(group)) turn.hand_down_by(link, piece);
}

void FenceComponent::down(const FenceDown& piece, Turn& turn) {
  const Pieces pieces = receive(piece, turn);
  if (pieces.empty()) return;
  const std::size_t most = wire::kMostGiven * std::size_t{turn.seat().job.processes};
  turn.tell(whole_fence(pieces, most));
}

/// Pieces arrive in order. After a change of parent they may arrive again from the beginning.
FenceComponent::Pieces FenceComponent::receive(const FenceDown& piece, Turn& turn) {
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
  // No process waits for earlier fences of the group: their pieces are dropped, too.
  for (auto each = arriving_.lower_bound(piece.fence.first()); each != arriving_.end() &&
                                                               each->first.same_group(piece.fence) &&
                                                               each->first.number <= piece.fence.number;)
    each = arriving_.erase(each);
  over(whole, turn);
  return whole;
}

/// When a fence has failed, another host may still wait for the end of an earlier one of its group.
void FenceComponent::over(const Pieces& pieces, Turn& turn) {
  const wire::Fence& fence = fence_of(pieces);
  const bool is_good = pieces.front().failure.empty();
  if (is_good) keep(pieces, turn);
  const Seat seat = turn.seat();
  const auto found = open_.find(fence);
  if (found != open_.end() && found->second.own && is_good && seat.job.keeps_alive()) {
    FenceEntered own = std::move(*found->second.own);
    const std::size_t bytes = own.fence.name.size() + own.given.size();
    const std::size_t here = seat.processes != nullptr ? seat.processes->local().size() : 1;
    last_.keep(fence, std::move(own), kParentLink, bytes, most_kept(here));
  }
  for (auto each = open_.lower_bound(fence.first());
       each != open_.end() && each->first.same_group(fence) && each->first.number <= fence.number;)
    each = is_good || each->first.number == fence.number ? close(each) : std::next(each);
}

void FenceComponent::turn(Turn& turn) {
  begin_epoch(turn);
  const std::uint32_t below = turn.seat().launch.subtree().processes();
  if (std::exchange(below_, below) > below) {  // a missing process may be below another launcher now
    for (const auto& [fence, open] : open_) {
      if (open.entered > open.sent) fresh_.insert(fence);
    }
  }
  for (const wire::Fence& fence : std::exchange(fresh_, {})) {
    if (const auto open = open_.find(fence); open != open_.end()) hand_on(fence, open->second, turn);
  }
}

void FenceComponent::hand_on(const wire::Fence& fence, Open& open, Turn& turn) {
  const Seat seat = turn.seat();
  if (!seat.is_root()) {
    const bool fails = !loss_of(fence, seat.progress.lost).empty();  // the root ends it
    const bool complete = fails || open.entered >= here_and_below(fence.processes, seat);
    if (!complete || turn.way_up() != WayUp::open) return;
    in_pieces(std::exchange(open.given, {}), [&](std::size_t, std::string piece, bool more) {
      FenceUp up{fence, epoch_, 0, std::move(piece)};
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
  for (const FenceDown& piece : pieces) hand_down(piece, turn);
  keep(pieces, turn);
}

}  // namespace charmtree::kvs
