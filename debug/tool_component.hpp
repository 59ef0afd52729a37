// SPDX-License-Identifier: Apache-2.0
// The part that carries what is for the tools beside processes (`charmrun ++exec`, ++dap) to their hosts.
// What they say goes up by itself. As a debugger session, a session of tools is over for a launcher, and for
// all below it, when it loses its parent: a tool of which nobody hears ends.
//
// Its messages: ToolOrder, ToolSaid.
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "debug/events.hpp"
#include "tree/turn/turn.hpp"

namespace charmtree::debug {

class ToolComponent {
public:
  void down(const ToolOrder& order, proto::Turn& turn);
  /// Of this host.
  void on(const ToolSpoke& spoke, proto::Turn& turn) const;
  /// The parent is gone.
  void parent_lost(proto::Turn& turn);
  /// Tells of launchers that are lost.
  void turn(proto::Turn& turn);

private:
  struct Session {
    bool is_here = false;
    std::set<proto::LinkId> links = {};  // that lead to hosts of it
  };
  static void begin(Session& session, const ToolOrder& order, proto::Turn& turn);
  static void end(const Session& session, const ToolOrder& order, proto::Turn& turn);
  static void fail(std::uint32_t session, const char* why, std::vector<wire::ProcessSet::Range> which,
                   proto::Turn& turn);

  std::map<std::uint32_t, Session> sessions_;
};

}  // namespace charmtree::debug
