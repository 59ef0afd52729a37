// SPDX-License-Identifier: Apache-2.0
// The ring component of a launcher. When all processes here and below have entered a ring, it joins their
// runs and sends the contributions at the ends of each run up (tree/wire/ring_runs.hpp). On the way down it
// sends each child, and its own host, the neighbours of their runs; until then it keeps their runs. Messages
// are short, except where a repair or a late host has broken up the process numbers below a launcher.
//
// When an epoch begins (kvs/fence/component.hpp), entries are void, and each host enters again. The result
// depends on process numbers only, so it is the same for hosts that have left the ring already; these enter
// the ring that they left last again, for the others. The service reports no failure: every host learns of
// losses, and its client server knows that a ring with a lost process fails.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "kvs/ring/messages.hpp"
#include "tree/turn/turn.hpp"

namespace charmtree::kvs {

class RingComponent {
public:
  using LinkId = proto::LinkId;
  using Turn = proto::Turn;

  /// Open rings of a child: a host waits in one at a time, and may have left one in which others wait.
  static constexpr std::size_t kMostAtOnce = 4;

  /// All processes of this host have entered.
  void on(const proto::RingEntered& own, Turn& turn);
  void up(LinkId link, const RingUp& message, Turn& turn);
  /// Passes the ends on, and notifies the client servers of this host (RingDone) if they wait for the ring.
  void down(const RingDown& message, Turn& turn);
  /// Passes on complete rings; at the root, ends them.
  void turn(Turn& turn);

private:
  struct Entered {
    wire::RingRun run;
    LinkId by = proto::kParentLink;  // the child; kParentLink: this host
    bool is_sent = false;
  };
  struct Open {
    std::map<std::uint32_t, Entered> runs_by_first = {};  // by the first process of each
    std::set<LinkId> links = {};                          // that have entered
    std::uint64_t processes = 0, sent_processes = 0;
    std::vector<wire::RingRun> sent = {};  // to the parent, joined
    bool contains_any(const wire::RingRun& run) const;
    std::vector<wire::RingRun> runs() const;
    std::vector<wire::RingRun> runs(LinkId by) const;
  };
  bool is_allowed(LinkId link, const RingUp& message, Turn& turn) const;
  void enter(LinkId by, std::uint32_t number, const std::vector<wire::RingRun>& runs, Turn& turn);
  void begin_epoch(Turn& turn);
  void hand_on(std::uint32_t number, Open& open, Turn& turn);
  void over(std::uint32_t number, const std::vector<wire::RingRun>& all,
            const std::vector<wire::RingEnds>& ends, Turn& turn);

  std::map<std::uint32_t, Open> open_;      // by number
  std::optional<proto::RingEntered> last_;  // of this host, in jobs with repair
  std::uint32_t epoch_ = 0;
};

}  // namespace charmtree::kvs
