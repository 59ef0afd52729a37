// SPDX-License-Identifier: Apache-2.0
// The part that repairs the tree above a loss. A launcher below cannot be reached any more, in a job that
// goes on: we log in to its host again, and if it lives it waits there (Adoption) and becomes our child once
// more, with all below it. If it is gone we take its place, and seek those that it had
// started in the same way. Whoever is not found is lost, and whatever the job has left there is killed. Until
// then nothing is said of it: barriers wait.
//
// A root that takes over from one that was lost seeks all launchers in the same way.
//
// Its messages: Adopt; Waiting, Claim, Claimed, Taken, and Swept of one that was sent to adopt. What it has
// found it tells as LauncherLost, LauncherUnreached, LauncherClaimed, LauncherFound, GivenUp.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "health/adoption_proof.hpp"
#include "tree/overlay/launch.hpp"
#include "tree/turn/turn.hpp"

namespace charmtree::health {

class Repairs {
public:
  /// How long one that has lost a child tries at least, and at most, to reach that one again before it turns
  /// to those below, and how long it seeks these.
  static constexpr Duration kReach = 1500ms, kLongestReach = 3s, kSeek = 2500ms;
  /// How long a root that takes over seeks those that have lost theirs, and tries to reach each of them: the
  /// way there may be open again only now, and after that there is time for those below.
  static constexpr Duration kTakeOver = 15s, kInsist = kTakeOver - kSeek;

  /// `random` must outlive the object.
  explicit Repairs(Random& random) : random_(random) {}

  /// True: the loss of this child is to be repaired.
  static bool can_repair(const proto::Child& child, proto::LinkId link, const Error& error,
                         const proto::Seat& seat);
  void begin(const proto::Child& child, const Error& error, proto::Turn& turn);
  /// Root: all launchers are sought, but for those of `lost`, which are told as such.
  void take_over(const proto::TreeShape& shape, proto::Turn& turn);
  /// Root: it seeks nobody any more, or has all that it needs.
  void end_takeover() { takes_over_ = false; }
  /// Root that takes over: some have not been found yet.
  bool seeks_all() const { return repairs_.contains(wire::kRootIndex); }

  /// The lost launcher of this host itself is not waited for any longer; whatever is left there is killed.
  void presume_gone(std::uint32_t host, proto::Turn& turn);
  /// Its host does not answer, or nobody waits there: those below it may.
  void not_there(std::uint32_t host, const std::string& why, proto::Turn& turn);
  /// What waits there, if anything, nobody knows.
  void not_reached(const Host& host, const Error& error, proto::Turn& turn);
  /// Who was sent to adopt is there.
  static void arrived(std::uint32_t host, proto::LinkId link, proto::Turn& turn);
  /// True: it came from one who is about to be adopted, or it is nothing that such a one may say.
  bool up(proto::Child& child, proto::LinkId link, const wire::Message& message, proto::Turn& turn);
  /// Its claim has not been answered.
  bool is_claimed(proto::LinkId link) const { return claims_.contains(link); }
  /// The link has ended. True: its claim had not been answered.
  bool lost(proto::LinkId link) { return claims_.erase(link) > 0; }
  /// All are left to others.
  void stop();
  void turn(proto::Turn& turn);
  /// In real time.
  Instant next_deadline() const;

private:
  /// The launcher of a host, and maybe of others, cannot be reached any more the way it was.
  struct Repair {
    Error error;
    std::map<std::uint32_t, Host> hosts;    // at and below it
    Instant reach_by, end_by;               // in real time
    bool is_gone = false;                   // those below are sought instead
    Instant insist_until = Instant::min();  // a host that is not reached is tried again
    std::set<std::uint32_t> sought = {};    // hosts whose launchers are to be adopted
  };

  void seek_below(Repair& repair, std::uint32_t host, proto::Turn& turn);
  static bool is_lost(std::uint32_t host, const proto::Seat& seat);
  static void tell_lost(const Error& error, std::uint32_t host, proto::Turn& turn);
  void end(Repair& repair, proto::Turn& turn);
  void claim(proto::Child& child, proto::LinkId link, const wire::Waiting& waiting, proto::Turn& turn);
  void claimed(std::uint32_t host, proto::LinkId link, const wire::Claimed& answer, proto::Turn& turn);

  Random& random_;
  std::map<std::uint32_t, Repair> repairs_;  // by the host of the launcher that was lost
  std::map<proto::LinkId, Nonces> claims_;   // that have not been answered
  bool takes_over_ = false;
};

}  // namespace charmtree::health
