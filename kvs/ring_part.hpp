// SPDX-License-Identifier: Apache-2.0
// The part that carries rings (tree/wire/ring_runs.hpp). When all here and below are in one, a launcher joins
// their runs and hands on what is at their ends; on the way down it tells each child, and its own host, what
// is beside theirs. So it has to keep what has come until the answer does. Messages are short, but where a
// repair or a late host has torn the numbers below a launcher apart.
//
// When an epoch begins (see kvs/fence/component.hpp), what has come is void, and each host enters again: by
// the numbers of processes, whatever the tree is like now, the outcome is the same for those who are out of
// it already, and enter the one that they came out of last once more for the others. Nobody says that a ring
// has failed: each host hears of losses, and knows that those with a lost process do.
//
// Its messages: RingUp, RingDown.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "tree/turn/turn.hpp"
#include "tree/wire/kvs_messages.hpp"

namespace charmtree::proto {

class RingPart {
public:
  /// A host waits in one at a time, and may have come out of one that others wait in.
  static constexpr std::size_t kMostAtOnce = 4;

  /// All processes of this host are in.
  void add(wire::RingUp own, Turn& turn);
  void up(LinkId link, wire::RingUp message, Turn& turn);
  /// What is beside the runs of this host, if that awaits it.
  std::optional<wire::RingDown> down(const wire::RingDown& message, Turn& turn);
  /// What is complete goes on.
  void turn(Turn& turn);

private:
  struct Said {
    wire::RingRun run;
    LinkId by = kParentLink;  // this host, if it is that
    bool is_sent = false;
  };
  struct Open {
    std::map<std::uint32_t, Said> said = {};  // by their first process
    std::set<LinkId> links = {};              // by which
    std::uint64_t processes = 0, sent_processes = 0;
    std::vector<wire::RingRun> sent = {};  // as they were told up
    bool contains_any(const wire::RingRun& run) const;
    std::vector<wire::RingRun> runs() const;
    std::vector<wire::RingRun> runs(LinkId by) const;
  };
  bool may_say(LinkId link, const wire::RingUp& message, Turn& turn) const;
  void enter(LinkId by, const wire::RingUp& message, Turn& turn);
  void begin_epoch(Turn& turn);
  void hand_on(std::uint32_t number, Open& open, Turn& turn);
  std::optional<wire::RingDown> over(std::uint32_t number, const std::vector<wire::RingRun>& all,
                                     const std::vector<wire::RingEnds>& ends, Turn& turn);

  std::map<std::uint32_t, Open> open_;  // by number
  std::optional<wire::RingUp> last_;    // of this host, in jobs that repair themselves
  std::uint32_t epoch_ = 0;
};

}  // namespace charmtree::proto
