// SPDX-License-Identifier: Apache-2.0
// The stacks of many processes, and the messages that carry them. Processes with the same stack are a group;
// of a large group only the first processes are named, so the size does not depend on the number of
// processes.
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

namespace charmtree::stacks {

inline constexpr std::size_t kMostStackGroups = 512, kMostStackFrames = 128;
/// Different frames in all groups: no more than any list may have.
inline constexpr std::size_t kMostStackNames = wire::Remit::kMostPus;
/// Bytes of the name of a frame.
inline constexpr std::size_t kMostStackName = 256;
/// Bytes of a message with as many groups, frames and names.
inline constexpr std::size_t kMaxStacks = 1U << 20;

/// The motion of a process while its stack was read several times.
enum class Motion : std::uint8_t {
  waits,     // the same stack, without computing, or in a loop that waits
  computes,  // the same functions each time
  stopped,   // a signal has stopped it
  moves,     // other functions each time: the frames are those in common
  crashed,   // a fault has ended it: the frames are from its core file
  unread,    // not known: the only frame is the reason
};

struct StackGroup {
  std::vector<std::uint32_t> frames;  // places in Stacks::names, the outermost first
  Motion motion = Motion::waits;
  std::uint32_t processes = 0;                 // their number
  std::vector<wire::ProcessSet::Range> which;  // the lowest process numbers
};
struct Stacks {
  std::vector<std::string> names;
  std::vector<StackGroup> groups;
};

inline bool is_sound(const StackGroup& group) {
  return wire::is_group(group.processes, group.which) && group.frames.size() <= kMostStackFrames;
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

/// Requests the stacks of all processes; each launcher answers with StacksUp within this time.
struct StacksWanted {
  CT_MESSAGE(down, 41);
  std::uint32_t number = 0;  // of the run's requests, from 1
  bool raw = false;          // with all frames
  bool crashed = false;      // also of processes that have left core files
  Duration within{0};
};

/// The stacks of all processes of a launcher's host and below.
struct StacksUp {
  CT_MESSAGE(up, 85);
  std::uint32_t number = 0;
  Stacks stacks;
};

}  // namespace charmtree::stacks
