// SPDX-License-Identifier: Apache-2.0
// ++mpiexec, before there are launchers: what each process that mpiexec starts is told by the script that it
// runs (Ticket), and what the one of them that becomes its host's launcher says to the root (RankReport) and
// hears from it (Begin) before their connection is an ordinary link. A decoder takes the messages of one
// direction only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tree/base/result.hpp"
#include "tree/base/time.hpp"
#include "tree/wire/frame.hpp"

namespace charmtree::wire {

/// One line of hexadecimal digits in the script, which only its owner can read.
struct Ticket {
  static constexpr std::size_t kSecret = 32;  // bytes
  static constexpr std::size_t kMostPlaces = 64;
  static constexpr std::size_t kMostBytes = 64U << 10;  // as a line

  std::string version;  // of charmrun
  std::string secret;   // of this start alone: kSecret random bytes
  std::uint32_t processes = 0;
  Duration patience{0};             // how long the root may be unreachable
  std::string script;               // path of the script itself
  std::vector<std::string> places;  // where the root may be reached, "a.b.c.d:port", tried in this order
  friend bool operator==(const Ticket&, const Ticket&) = default;
};
std::string to_line(const Ticket& ticket);
/// Error bad_input unless it is a ticket made by a charmrun of `version`.
Result<Ticket> ticket_of(std::string_view line, std::string_view version);

/// A process of mpiexec's that has come, on the host of the launcher that says so.
struct RankReport {
  static constexpr std::size_t kMostText = 256;  // bytes of each string; more is cut

  std::string host;  // its name
  std::uint32_t rank = 0;
  std::uint32_t size = 0;  // processes, as mpiexec has told it; 0: it has not
  std::string trouble;     // why there is no rank; empty: there is
  friend bool operator==(const RankReport&, const RankReport&) = default;
};
/// As a complete frame.
std::string to_frame(const RankReport& report);
/// The greatest payload of such a frame.
inline constexpr std::size_t kMaxRankReport = 2 * RankReport::kMostText + 32;
/// Error bad_peer: another type, bytes missing or left over.
Result<RankReport> decode_rank_report(const Frame& frame);

/// All processes are there: the launcher's greeting comes next, and an ordinary link begins.
std::string begin_frame();
bool is_begin(const Frame& frame);

}  // namespace charmtree::wire
