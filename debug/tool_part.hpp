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

#include "tree/turn/turn.hpp"

namespace charmtree::proto {

class ToolPart {
public:
  void down(const wire::ToolOrder& order, Turn& turn);
  /// Of this host.
  void on(const ToolSpoke& spoke, Turn& turn) const;
  /// The parent is gone.
  void give_up(Turn& turn);
  /// Tells of launchers that are lost.
  void turn(Turn& turn);

private:
  struct Session {
    bool is_here = false;
    std::set<LinkId> links = {};  // that lead to hosts of it
  };
  static void begin(Session& session, const wire::ToolOrder& order, Turn& turn);
  static void end(const Session& session, const wire::ToolOrder& order, Turn& turn);
  static void fail(std::uint32_t session, const char* why, std::vector<wire::ProcessSet::Range> which,
                   Turn& turn);

  std::map<std::uint32_t, Session> sessions_;
};

}  // namespace charmtree::proto
