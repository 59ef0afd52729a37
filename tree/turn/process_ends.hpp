// SPDX-License-Identifier: Apache-2.0
// How the processes of a job have ended, as far as the root has heard: who in which way. Equal ends are one
// entry, so that it stays small whatever the job does.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "tree/wire/messages.hpp"
#include "tree/wire/peers_used.hpp"
#include "tree/wire/process_set.hpp"

namespace charmtree::proto {

/// Names are kept in reports.
enum class EndKind : std::uint8_t {
  well,        // with status 0, or its protocol said that it is done
  exit,        // with another status
  killed,      // by a signal
  abort,       // it gave up, and said so
  connection,  // it was lost, and how does not show
  launcher,    // it was lost with its launcher
  stopped,     // charmrun has ended it, because of another cause
};
std::string_view name(EndKind kind);

struct WayToEnd {
  EndKind kind = EndKind::well;
  std::uint8_t number = 0;  // the status, or the signal
  friend auto operator<=>(const WayToEnd&, const WayToEnd&) = default;
  /// Of itself, and not as it should.
  bool is_failure() const { return kind != EndKind::well && kind != EndKind::stopped; }
};
/// Returns "exit status 3", "signal 11, SIGSEGV" or "aborted with status 1".
std::string print(const WayToEnd& way);
WayToEnd way_of(const wire::ProcessExit& exit);
WayToEnd way_of(const wire::AbortUp& abort);

class ProcessEnds {
public:
  /// What is told of them in one line: ways, and bytes of the processes of each.
  static constexpr std::size_t kMostWays = 8, kMostOfWay = 200;

  /// Who has ended already has: false if all of them had.
  bool add(const WayToEnd& way, wire::ProcessSet::Range processes);
  /// All up to this number of whom nothing is known.
  void add_others(const WayToEnd& way, std::uint32_t processes);
  const std::map<WayToEnd, wire::ProcessSet>& ways() const { return ways_; }
  /// Returns text that follows the numbers of some processes, such as where they were.
  using Where = std::function<std::string(const wire::ProcessSet& processes)>;
  /// Returns "3 processes failed: 1,4 (exit status 1); 2 (signal 11, SIGSEGV)". Returns an empty text if
  /// fewer than two failed. Does not count those that were lost with their launchers.
  std::string line(const Where& where = {}) const;

  /// What those that tell it have used until then.
  void add(const wire::PeersUsed& peers) { peers_.add(peers); }
  const wire::PeersUsed& peers() const { return peers_; }

private:
  std::map<WayToEnd, wire::ProcessSet> ways_;
  wire::PeersUsed peers_;
  wire::ProcessSet all_;
};

}  // namespace charmtree::proto
