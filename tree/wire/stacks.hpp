// SPDX-License-Identifier: Apache-2.0
// Stacks of many processes: those with the same one are a group. So much is said of them however many
// processes there are: of a large group, who the first ones are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tree/base/time.hpp"
#include "tree/wire/codec.hpp"
#include "tree/wire/message.hpp"
#include "tree/wire/process_group.hpp"

namespace charmtree::wire {

inline constexpr std::size_t kMostStackGroups = 512, kMostStackFrames = 128;
/// Of frames, in all groups: no more than any list may have; and the bytes of each.
inline constexpr std::size_t kMostStackNames = Remit::kMostPus, kMostStackName = 256;

/// What its processes did while they were looked at, more than once.
enum class Motion : std::uint8_t {
  waits,     // always there, without computing, or in a loop that waits
  computes,  // in the same functions each time
  stopped,   // a signal has stopped it
  moves,     // in others each time: the frames are what these had in common
  crashed,   // a fault of its own has ended it: the frames are from its core file
  unread,    // that is not known: the only frame says why
};

struct StackGroup {
  std::vector<std::uint32_t> frames;  // places in Stacks::names, the outermost first
  Motion motion = Motion::waits;
  std::uint32_t processes = 0;           // so many
  std::vector<ProcessSet::Range> which;  // the lowest of them
};
struct Stacks {
  std::vector<std::string> names;
  std::vector<StackGroup> groups;
};

inline bool is_sound(const StackGroup& group) {
  return is_group(group.processes, group.which) && group.frames.size() <= kMostStackFrames;
}

inline bool is_sound(const Stacks& stacks) {
  const auto is_known = [&](const StackGroup& group) {
    return std::all_of(group.frames.begin(), group.frames.end(),
                       [&](std::uint32_t frame) { return frame < stacks.names.size(); });
  };
  std::uint64_t processes = 0;
  for (const StackGroup& group : stacks.groups) processes += group.processes;
  return processes <= UINT32_MAX && std::all_of(stacks.groups.begin(), stacks.groups.end(), is_known);
}

/// Down: what do the processes of everybody do? Answered by StacksUp within this time. `raw`: with all
/// frames. `crashed`: and what did those that have written core files?
struct StacksWanted {
  CT_MESSAGE(down, 41);
  std::uint32_t number = 0;  // of the run's questions, from 1
  bool raw = false, crashed = false;
  Duration within{0};
};

/// Up: of all processes here and below.
struct StacksUp {
  CT_MESSAGE(up, 85);
  std::uint32_t number = 0;
  Stacks stacks;
};

}  // namespace charmtree::wire
