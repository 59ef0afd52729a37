// SPDX-License-Identifier: Apache-2.0
// The fence component of a launcher. It adds up the entries of its host and of the launchers below it, and
// passes them on when all processes of the fence here and below have entered: one message goes up over each
// link, and one comes down. Only the root ends a fence, so it ends in the same way everywhere. Contributions
// are opaque.
//
// As with barriers, a sum does not tell whose entries it has. When processes, launchers or the root are lost,
// an epoch begins (tree/turn/losses.hpp): sums are void, and each host enters its open fences again. Some
// hosts may have left a fence in which others still wait. So each launcher keeps the last fence of each group
// and name (kvs/fence/kept_fences.hpp), and sends its end again to a child that enters it. A root that takes
// over knows no fence: where that can happen, each host also enters again the fences that it left last. A
// fence with a lost process fails, and so do all later ones of its group; each process that enters one gets
// the failure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kvs/fence/kept_fences.hpp"
#include "kvs/fence/messages.hpp"
#include "tree/turn/turn.hpp"

namespace charmtree::kvs {

class FenceComponent {
public:
  using LinkId = proto::LinkId;
  using Turn = proto::Turn;

  /// Bytes of contributions in a message, so that other messages pass between large ones, and launchers pass
  /// on the beginning while the rest arrives.
  static constexpr std::size_t kMostPiece = 1U << 20;
  /// A process may have contributed to all fences in which it waits this many times as much as to one.
  static constexpr std::size_t kMostGivenAtOnce = 4;

  /// All processes of this host that take part have entered.
  void on(const proto::FenceEntered& own, Turn& turn);
  void up(LinkId link, FenceUp piece, Turn& turn);
  /// Passes the piece on, and notifies the client servers of this host (FenceDone) of a whole fence.
  void down(const FenceDown& piece, Turn& turn);
  using Pieces = std::vector<FenceDown>;
  /// Passes the piece on. Returns all pieces of its fence once they have arrived, before that none.
  Pieces receive(const FenceDown& piece, Turn& turn);
  /// Passes on complete fences; at the root, ends them.
  void turn(Turn& turn);
  /// Returns how many finished fences are kept.
  std::size_t kept() const { return over_.size() + last_.size(); }
  /// Returns what may be kept of fences of so many processes.
  static constexpr KeptLimit most_kept(std::size_t processes) {
    return {wire::kMostFencesAtOnce * processes,
            (kMostGivenAtOnce * wire::kMostGiven + wire::kMostFenceName) * processes};
  }

private:
  /// The entries of one child to a fence.
  struct Entered {
    std::uint32_t processes = 0;
    std::size_t bytes = 0;
  };
  /// The entries of one child to all open fences.
  struct Total {
    std::size_t fences = 0, bytes = 0;
  };
  struct Open {
    std::optional<proto::FenceEntered> own;
    std::map<LinkId, Entered> below;
    std::uint32_t entered = 0, sent = 0;  // processes here and below
    std::string given;                    // that have not been sent
    std::uint64_t requests = 0;           // that have not been sent
    Instant begun{};
    void enter(std::uint32_t processes, std::uint64_t requests, std::string more);
  };

  using AllOpen = std::map<wire::Fence, Open, ByGroup>;

  bool is_allowed(LinkId link, const FenceUp& piece, Turn& turn) const;
  Open& open(const wire::Fence& fence, Turn& turn);
  void begin_epoch(Turn& turn);
  void open_again(Turn& turn);
  Pieces answer(const wire::Fence& fence, Turn& turn) const;
  void keep(const Pieces& over, Turn& turn);
  void over(const Pieces& over, Turn& turn);
  AllOpen::iterator close(AllOpen::iterator open);
  static void hand_down(const FenceDown& piece, Turn& turn);
  void hand_on(const wire::Fence& fence, Open& open, Turn& turn);

  AllOpen open_;
  std::set<wire::Fence, ByGroup> fresh_;             // open fences with new entries since the last turn
  std::map<LinkId, Total> totals_;                   // by child
  std::map<wire::Fence, Pieces, ByGroup> arriving_;  // pieces from the parent
  KeptFences<Pieces> over_;               // good ends, packed, in jobs with repair; a share for each child
  KeptFences<proto::FenceEntered> last_;  // entries of this host, in jobs that another root may take over
  std::uint32_t epoch_ = 0;
  std::uint32_t below_ = 0;  // processes below, in the last turn
};

}  // namespace charmtree::kvs
