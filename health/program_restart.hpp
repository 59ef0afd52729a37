// SPDX-License-Identifier: Apache-2.0
// A program that is started again as a whole (++on-failure restart): whether that is done, and when. The same
// process must not run twice: what nobody has confirmed may run until its launcher has noticed that it is
// alone (OrphanBound).
//
// Where the end of the old processes is not confirmed, the same ones may start elsewhere once the orphan
// bound has passed. That is a bound only where a launcher that is cut off notices it: not without heartbeats,
// not where it could not see that its parent acknowledges nothing (no sshd of its own on the connection), not
// where it may have been suspended meanwhile, nor below a launcher that was found frozen or silent, or did
// not end in time. Then nothing is started again, but by ++fast-failover. (One that is frozen when its
// network is cut is taken for cut off.)
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "health/orphan_bound.hpp"
#include "health/restart_budget.hpp"
#include "tree/job/judge.hpp"
#include "tree/turn/events.hpp"

namespace charmtree::proto {

class ProgramRestart {
public:
  /// Before the program is started for the second time in a row; doubles with each.
  static constexpr Duration kFirstPause = 1s;

  struct Rules {
    std::uint32_t most = 0;      // times
    bool fast_failover = false;  // even if what was lost may still run
  };
  explicit ProgramRestart(const Rules& rules) : rules_(rules), budget_(rules.most, kFirstPause) {}
  /// Of the next run.
  ProgramRestart next_run() const;

  /// A launcher was lost: the program may have failed because of that.
  void lost_launcher() { lost_launchers_ = true; }
  bool has_lost_launchers() const { return lost_launchers_; }

  /// This run, begun at `begun_at`, has failed, as the judge says. Whether another one follows.
  bool consider(const wire::JobSpec& job, const Judge& judge, Instant begun_at, Instant now, Actions& out);
  bool is_due() const { return due_; }
  /// False: there was to be none.
  bool cancel();
  /// All launchers stay for the next run, but for those that were lost. `unconfirmed`: hosts on which
  /// something of this one may be left; `unbounded`: those of them where it may stay for ever.
  struct Left {
    std::set<std::uint32_t> unconfirmed, unbounded;
  };
  void idle(Left left, const OrphanBound& bound, const std::vector<Host>& hosts, Instant now, Actions& out);
  /// Since then nothing is left on these either.
  void confirmed(const std::vector<std::uint32_t>& hosts);

  enum class Now : std::uint8_t { wait, start, give_up };
  Now turn(const OrphanBound& bound, const std::vector<Host>& hosts, Instant now, Actions& out);
  Instant next_deadline() const { return at_; }

  std::uint32_t restarts() const;

private:
  bool may_restart(const wire::JobSpec& job, const Judge& judge) const;
  bool is_bounded(std::uint32_t host, const OrphanBound& bound) const {
    return bound.holds_for(host) && !left_.unbounded.contains(host);
  }

  Rules rules_;
  RestartBudget budget_;
  bool lost_launchers_ = false;
  bool due_ = false;       // this run has failed, and another follows
  Instant at_ = kNever;    // not before; kNever: launchers are not idle yet
  Instant from_ = kNever;  // ... nor then, if all is confirmed
  Duration pause_{0};
  Left left_;
};

}  // namespace charmtree::proto
