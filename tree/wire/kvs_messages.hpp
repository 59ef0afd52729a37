// SPDX-License-Identifier: Apache-2.0
// Messages of the key-value service (PMI, PMIx). Inquiries: a host asks for what a process of another one has
// given, and names under which processes of the job find each other; both go over the root. Worlds: a process
// has others started (MPI_Comm_spawn), by the root.
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
#include "tree/wire/share.hpp"

namespace charmtree::wire {

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

}  // namespace charmtree::wire
