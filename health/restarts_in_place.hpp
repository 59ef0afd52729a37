// SPDX-License-Identifier: Apache-2.0
// The root's part in starting single processes again (++on-failure restart), of programs that are not
// Charm++'s: where they were, or, if their hosts are lost, elsewhere (DESIGN D24), on spares or beside
// others, as soon as nothing of them can be left.
//
// Input that was given to the old life of a process is not given again: it may have been read. From the time
// that its loss is known until the order for the next life none is read, so that of what follows none is
// lost.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "health/orphan_bound.hpp"
#include "health/process_restarts.hpp"
#include "health/relocation.hpp"
#include "tree/job/root_turn.hpp"

namespace charmtree::proto {

class RestartsInPlace {
public:
  struct Rules {
    std::uint32_t most = UINT32_MAX;  // restarts in all
    Duration old_life{0};             // so long something of a lost host's processes may be left there
  };
  /// `hosts` are the job's.
  RestartsInPlace(std::shared_ptr<const wire::JobSpec> job, const std::vector<Host>& hosts,
                  const Rules& rules);

  /// Everybody has been sent this table.
  void begin(wire::NodeTable table);
  void on(const wire::Rejoined& message, Judge& judge, Instant now);
  void on(const wire::Fenced& fenced) { relocation_.fenced(fenced.host); }
  /// `absent`: hosts that cannot be started. False: the job cannot go on so.
  bool on(const wire::LinkLost& lost, const std::set<std::uint32_t>& absent, const OrphanBound& bound,
          RootTurn& turn);
  /// While the user reads no output, processes may wait in their prints: nobody is late.
  void stalled(bool stalled, Instant now) { restarts_.stalled(stalled, now); }
  /// The orders for the next lives, which have to be sent now, behind all else.
  std::vector<wire::Restart> turn(const std::set<std::uint32_t>& absent, RootTurn& turn);
  Instant next_deadline() const { return earlier(restarts_.next_deadline(), relocation_.next_deadline()); }

  /// As ProcessRestarts.
  bool in_progress() const { return restarts_.in_progress(); }
  bool is_absent(std::uint32_t process) const { return restarts_.is_absent(process); }
  bool is_any_absent() const { return restarts_.is_any_absent(); }

private:
  void restart(const wire::ProcessExit& exit, RootTurn& turn);
  std::vector<Shelter> shelters(const std::set<std::uint32_t>& absent, const Judge& judge) const;
  void lose_hosts(const wire::LinkLost& lost, const std::vector<std::uint32_t>& hosts,
                  const OrphanBound& bound, RootTurn& turn);
  bool lose_with_host(std::uint32_t process, const wire::LinkLost& lost, bool is_first, RootTurn& turn);
  void move_processes(const std::set<std::uint32_t>& absent, RootTurn& turn);

  std::shared_ptr<const wire::JobSpec> job_;
  const std::vector<Host>& hosts_;
  ProcessRestarts restarts_;
  Relocation relocation_;
  bool has_table_ = false, has_charm_table_ = false;
  std::set<std::uint32_t> lost_hosts_;                     // whose launchers were lost
  std::map<std::uint32_t, std::string> lost_by_;           // processes that are to be moved, and how
  std::map<std::uint32_t, wire::ProcessExit> last_exits_;  // of processes that were started again
};

}  // namespace charmtree::proto
