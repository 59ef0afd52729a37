// SPDX-License-Identifier: Apache-2.0
// What goes over the tree of a ring, in which each process of the job, by number, has two neighbours: of
// processes that follow each other nothing but what the two at the ends have given. So a launcher says as
// much of a million processes as of one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace charmtree::wire {

/// What a process may give.
inline constexpr std::size_t kMostRingValue = 1U << 10;

/// Processes that follow each other, with what the first and the last of them have given.
struct RingRun {
  std::uint32_t first = 0, last = 0;
  std::string head, tail;
  friend bool operator==(const RingRun&, const RingRun&) = default;
};
/// What those beside a run have given: in front of its first process, and behind its last one.
struct RingEnds {
  std::uint32_t first = 0;  // of the run
  std::string left, right;
  friend bool operator==(const RingEnds&, const RingEnds&) = default;
};

/// They rise, and no process is in two.
bool are_sound(const std::vector<RingRun>& runs);
/// Joined where they meet.
std::vector<RingRun> joined(const std::vector<RingRun>& runs);
/// Of one that is all of a ring: it meets itself.
RingEnds closed(const RingRun& all);
/// Of each of `runs`, where `ends` are those of `all`, which consist of them. Nothing: they do not, or one of
/// the ends is missing.
std::optional<std::vector<RingEnds>> ends_within(const std::vector<RingRun>& runs,
                                                 const std::vector<RingRun>& all,
                                                 const std::vector<RingEnds>& ends);

}  // namespace charmtree::wire
