// SPDX-License-Identifier: Apache-2.0
// Messages of the key-value service (PMI, PMIx). Fences: all processes of a group wait for each other, and
// what each of their hosts has to give goes to all of them. Inquiries: a host asks for what a process of
// another one has given, and names under which processes of the job find each other; both go over the root.
// Worlds: a process has others started (MPI_Comm_spawn), by the root. Rings: each process of the job gets
// what its two neighbours have given, and nobody has the values of all.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tree/wire/codec.hpp"
#include "tree/wire/message.hpp"
#include "tree/wire/process_set.hpp"
#include "tree/wire/programs.hpp"
#include "tree/wire/ring_runs.hpp"
#include "tree/wire/share.hpp"

namespace charmtree::wire {

/// Which fence: what its hosts give is in the form of the service that asked for it, and means nothing to
/// others.
struct Fence {
  std::uint8_t service = 0;                  // proto::ClientKind
  std::vector<ProcessSet::Range> processes;  // that take part; they rise, with gaps between them
  std::uint32_t number = 0;                  // of the fences of this group and name, from 1
  std::string name;                          // tells it from others that the same processes are in meanwhile
  bool same_group(const Fence& other) const {
    return service == other.service && processes == other.processes && name == other.name;
  }
  /// The first one of its group and name.
  Fence first() const { return {service, processes, 1, name}; }
  friend auto operator<=>(const Fence&, const Fence&) = default;
};

/// A process may give so much for one fence: the longest value that PMI takes, and more.
inline constexpr std::size_t kMostGiven = 17U << 10;
/// It may be in so many at a time.
inline constexpr std::size_t kMostFencesAtOnce = 64;
/// Of a fence: Open MPI's longest tag of a communicator, and what it adds.
inline constexpr std::size_t kMostFenceName = 2U << 10;
/// So that each launcher may say it, however few processes are below it (kMaxSaid).
inline constexpr std::size_t kMostFenceRanges = 4096;

/// Its group is one.
inline bool is_sound(const Fence& fence) {
  std::uint64_t least = 0;
  for (const auto& [first, last] : fence.processes) {
    if (first < least || last < first) return false;
    least = std::uint64_t{last} + 2;
  }
  return !fence.processes.empty() && fence.processes.size() <= kMostFenceRanges && fence.number > 0 &&
         fence.name.size() <= kMostFenceName;
}

/// Whose inquiry it is: a service numbers those of each of its processes.
struct InquiryId {
  std::uint8_t service = 0;  // proto::ClientKind
  std::uint64_t number = 0;
  friend auto operator<=>(const InquiryId&, const InquiryId&) = default;
};

/// What is answered at most.
inline constexpr std::size_t kMostAnswered = 1U << 20;
/// Of a name, and of what is published under it.
inline constexpr std::size_t kMostName = 1U << 10, kMostPublished = 16U << 10;

/// Of all that is said of a world that is wanted.
inline constexpr std::size_t kMostWanted = 1U << 20;

// ---- down: parent to child

/// `asker` wants to know what `process`, which is below, has given.
struct Inquired {
  CT_MESSAGE(down, 38);
  std::uint32_t process = 0, asker = 0;
  InquiryId id;
  std::string key = {};  // under which, of a service whose values have some
};
/// To `process`: what it has asked, of `about` (kNoProcess: a name). `failure`: why that is not known; empty:
/// it is.
struct Answered {
  CT_MESSAGE(down, 39);
  std::uint32_t process = 0, about = 0;
  InquiryId id;
  std::string failure, bytes;
};
/// Further processes belong to the job, and are about to be started: a World of their own.
struct WorldBegun {
  CT_MESSAGE(down, 40);
  std::uint8_t service = 0;  // proto::ClientKind: of the process that wanted it
  std::uint32_t by = 0;      // that process
  std::vector<FurtherProgram> programs;
  std::vector<Share> shares;  // their places, in their order; several of one host may follow each other
  std::string given;          // for them, in the form of the service
};
/// All are in it. `given`: by all hosts, one behind the other, packed; a piece of it, from `offset` on.
/// `failure`: why it has failed; empty: it has not.
struct FenceDown {
  CT_MESSAGE(down, 36);
  Fence fence;
  std::string failure;
  Blob given;
  std::uint64_t offset = 0;
  bool more = false;  // other pieces follow
};
/// Of the job's ring of that number, from 1: for each run that was said up.
struct RingDown {
  CT_MESSAGE(down, 37);
  std::uint32_t number = 0, epoch = 0;
  std::vector<RingEnds> ends;
};

// ---- up: child to parent

/// `process` wants to know what `about` has given.
struct Inquiry {
  CT_MESSAGE(to_root, 81);
  std::uint32_t process = 0, about = 0;
  InquiryId id;
  std::string key = {};  // as Inquired has it
};
/// Of `process`, for `asker`.
struct InquiryReply {
  CT_MESSAGE(to_root, 82);
  std::uint32_t process = 0, asker = 0;
  InquiryId id;
  std::string failure, bytes;
};
/// Names of the whole job, each of one service.
struct NameInquiry {
  CT_MESSAGE(to_root, 83);
  enum class Deed : std::uint8_t {
    publish,
    publish_once,  // until it is looked up
    look_up,
    await,  // look up, as soon as it is published
    unpublish,
  };
  std::uint32_t process = 0;
  InquiryId id;
  Deed deed = Deed::publish;
  std::string name, value;
};
/// A program that a process wants to have started: `first` counts from the first process of its world.
struct ProgramWanted {
  FurtherProgram program;
  std::uint32_t processes = 0;
  std::vector<std::string> hosts;  // where: names; empty: anywhere
};
/// `process` wants others to be started. Answered by the first of them, as a number.
struct WorldWanted {
  CT_MESSAGE(to_root, 84);
  std::uint32_t process = 0;
  InquiryId id;
  std::vector<ProgramWanted> programs;
  std::string given;  // for them
};
/// So many more processes below are in it, and their hosts give this. None: more is still to come of them.
struct FenceUp {
  CT_MESSAGE(up, 79);
  Fence fence;
  std::uint32_t epoch = 0;
  std::uint32_t processes = 0;
  std::string given;
  std::uint64_t requests = 0;  // that these have made since their last fence, where a launcher sees them
};
/// All processes here and below are in it: in runs as long as may be, which rise.
struct RingUp {
  CT_MESSAGE(up, 80);
  std::uint32_t number = 0, epoch = 0;
  std::vector<RingRun> runs;
};
inline bool is_sound(const RingUp& ring) {
  return ring.number > 0 && are_sound(ring.runs);
}

}  // namespace charmtree::wire
