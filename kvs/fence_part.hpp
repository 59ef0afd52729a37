// SPDX-License-Identifier: Apache-2.0
// The part that carries fences of processes (wire::Fence): each launcher adds up what its host and those
// below it give, and hands it on when everybody here and below is in; so one message goes up over each link,
// and one comes down. The root says when a fence is over, so that it ends in one way everywhere. What is
// given is not looked into.
//
// As with barriers, nobody can tell whose entries are in a sum: when processes or launchers are lost, an
// epoch begins (tree/turn/losses.hpp), sums are void, and each host enters again the fences that it has not
// come out of. Some hosts may have come out of one that others still wait in: the root keeps the last one of
// each group, and says it again. A fence with a lost process fails.
//
// Its messages: FenceUp, FenceDown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tree/turn/turn.hpp"
#include "tree/wire/kvs_messages.hpp"

namespace charmtree::proto {

class FencePart {
public:
  /// A child may be in so many fences at a time, and have given four times as much as for one.
  static constexpr std::size_t kMostOpen = 256, kMostGivenAtOnce = 4;

  /// All processes of this host that take part are in.
  void add(wire::FenceUp own, Turn& turn);
  void up(LinkId link, wire::FenceUp piece, Turn& turn);
  void down(const wire::FenceDown& message);
  /// What is complete goes on.
  void turn(Turn& turn);

private:
  struct Given {
    std::uint32_t processes = 0;
    std::size_t bytes = 0;
  };
  struct Open {
    std::optional<wire::FenceUp> own;
    std::map<LinkId, Given> below;
    std::uint32_t entered = 0, sent = 0;
    std::string given;  // not sent yet
    bool is_new = false;
    void enter(std::uint32_t processes, std::string more);
  };
  using Opens = std::map<wire::Fence, Open>;
  struct Over {
    wire::FenceDown message;
    std::uint32_t epoch;  // in which it was last said
  };

  bool may_say(LinkId link, const wire::FenceUp& piece, Turn& turn) const;
  void begin_epoch(Turn& turn);
  bool is_over(const wire::Fence& fence, Turn& turn);
  void hand_on(const wire::Fence& fence, Open& open, Turn& turn);
  void end(const wire::Fence& fence, std::string failure, std::string given, Turn& turn);

  Opens open_;
  std::vector<Over> over_;  // root: the last of each group
  std::uint32_t epoch_ = 0;
};

}  // namespace charmtree::proto
