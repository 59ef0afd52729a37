// SPDX-License-Identifier: Apache-2.0
// The part that carries a prompt's orders (`charmrun ++gdb`) to the debuggers on the hosts, and their answers
// back: what comes from below and from this host within a moment goes up as one, and the same answers
// together. A session is over for a launcher, and for all below it, when it loses its parent: nothing stays
// in a debugger's hands whose prompt has gone.
//
// Its messages: DebugOrder, DebugUp.
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "debug/answer_set.hpp"
#include "debug/events.hpp"
#include "tree/turn/turn.hpp"

namespace charmtree::debug {

class DebugComponent {
public:
  /// How long an answer waits for others.
  static constexpr Duration kTogether = 50ms;

  void down(const DebugOrder& order, proto::Turn& turn);
  /// Of this host.
  void on(const DebugSaid& said, proto::Turn& turn);
  void up(proto::LinkId link, const DebugUp& said, proto::Turn& turn);
  /// The parent is gone.
  void parent_lost(proto::Turn& turn);
  /// What can be told goes up.
  void turn(proto::Turn& turn);
  /// Returns a real time.
  Instant next_real_deadline() const;

private:
  struct Session {
    AnswerSet said = {};
    Instant due = kNever;                // what has been said goes up then
    std::uint32_t number = 0;            // of the order that is open; 0: none
    bool awaits_host = false;            // it has yet to be answered by it ...
    std::set<proto::LinkId> below = {};  // and by these
    std::set<proto::LinkId> links = {};  // that take part
  };
  static void begin(Session& session, proto::Turn& turn);
  static void lose_links(Session& session, proto::Turn& turn);
  static void await(Session& session, Instant now);

  std::map<std::uint32_t, Session> sessions_;
};

}  // namespace charmtree::debug
