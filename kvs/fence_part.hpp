// SPDX-License-Identifier: Apache-2.0
// The part that carries fences of processes (wire::Fence): each launcher adds up what its host and those
// below it give, and hands it on when everybody here and below is in; so one message goes up over each link,
// and one comes down. The root says when a fence is over, so that it ends in one way everywhere. What is
// given is not looked into.
//
// As with barriers, nobody can tell whose entries are in a sum: when processes, launchers or the root are
// lost, an epoch begins (tree/turn/losses.hpp), sums are void, and each host enters again the fences that it
// has not come out of. Some hosts may have come out of one that others still wait in: each launcher keeps the
// last one of each group and name (kvs/kept_fences), and says it again to who is in it. Where another root
// may take over, which knows of none, each host also enters again those that it came out of last. A fence
// with a lost process fails, and so do all that follow it; that is told to each who enters one.
//
// Its messages: FenceUp, FenceDown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kvs/kept_fences.hpp"
#include "tree/turn/turn.hpp"
#include "tree/wire/kvs_messages.hpp"

namespace charmtree::proto {

class FencePart {
public:
  /// Of a message, so that others get their turn, and that below it is handed on while more of it comes.
  static constexpr std::size_t kMostPiece = 1U << 20;
  /// For all fences that they are in, processes may have given four times as much as for one.
  static constexpr std::size_t kMostGivenAtOnce = 4;

  /// All processes of this host that take part are in.
  void add(wire::FenceUp own, Turn& turn);
  void up(LinkId link, wire::FenceUp piece, Turn& turn);
  /// Of what all have given, in order; or how it has failed.
  using Pieces = std::vector<wire::FenceDown>;
  /// A piece. All of them, once they are here: those of this host are told of the whole (kvs/given). Empty:
  /// not yet.
  Pieces down(const wire::FenceDown& piece, Turn& turn);
  /// What is complete goes on.
  void turn(Turn& turn);
  /// Returns how many fences that are over are kept.
  std::size_t kept() const { return over_.size() + last_.size(); }
  /// What may be kept of fences of so many processes.
  static constexpr KeptLimit most_kept(std::size_t processes) {
    return {wire::kMostFencesAtOnce * processes,
            (kMostGivenAtOnce * wire::kMostGiven + wire::kMostFenceName) * processes};
  }

private:
  struct Given {
    std::uint32_t processes = 0;
    std::size_t bytes = 0;
  };
  /// Of the fences that are open.
  struct Said {
    std::size_t fences = 0, bytes = 0;
  };
  struct Open {
    std::optional<wire::FenceUp> own;
    std::map<LinkId, Given> below;
    std::uint32_t entered = 0, sent = 0;
    std::string given;           // not sent yet
    std::uint64_t requests = 0;  // nor these
    Instant begun{};
    void enter(std::uint32_t processes, std::uint64_t requests, std::string more);
  };

  using AllOpen = std::map<wire::Fence, Open, ByGroup>;

  bool may_say(LinkId link, const wire::FenceUp& piece, Turn& turn) const;
  Open& open(const wire::Fence& fence, Turn& turn);
  void begin_epoch(Turn& turn);
  void open_again(Turn& turn);
  Pieces answer(const wire::Fence& fence, Turn& turn) const;
  void keep(const Pieces& over, Turn& turn);
  void over(const Pieces& over, Turn& turn);
  AllOpen::iterator close(AllOpen::iterator open);
  static void hand_down(const wire::FenceDown& piece, Turn& turn);
  void hand_on(const wire::Fence& fence, Open& open, Turn& turn);

  AllOpen open_;
  std::set<wire::Fence, ByGroup> fresh_;             // of these: something has come since the last turn
  std::map<LinkId, Said> said_;                      // about these, by each child
  std::map<wire::Fence, Pieces, ByGroup> arriving_;  // what has come of them from above
  // Those that went well, packed: in jobs that repair themselves, a share for each child; of this host, if
  // another root may ask.
  KeptFences<Pieces> over_;
  KeptFences<wire::FenceUp> last_;
  std::uint32_t epoch_ = 0;
  std::uint32_t below_ = 0;  // processes, when it was looked last
};

}  // namespace charmtree::proto
