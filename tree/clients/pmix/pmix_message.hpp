// SPDX-License-Identifier: Apache-2.0
// What a launcher and the PMIx helper of its host say to each other, in frames (tree/wire/frame.hpp). The
// helper is a process of its own, as the library of OpenPMIx has threads and is of whatever version the
// program brings: it serves the processes, and hands on what concerns others.
//
// The first word is the launcher's: Describe, of the job's own world. The helper answers Serving or Failed;
// processes are started after that. Other worlds (wire::World) are described when they begin. Processes are
// called by their numbers in the job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tree/base/result.hpp"
#include "tree/wire/codec.hpp"
#include "tree/wire/frame.hpp"
#include "tree/wire/kvs_messages.hpp"
#include "tree/wire/mpi_service.hpp"
#include "tree/wire/process_set.hpp"

namespace charmtree::pmix {

// ---- the launcher's

/// A host that has processes of a world.
struct Node {
  std::string name;  // no other one's
  std::vector<wire::ProcessSet::Range> ranks;
  template <class F>
  void for_each_rank(F&& act) const {
    for (const auto& [first, last] : ranks) {
      for (std::uint64_t rank = first; rank <= last; ++rank) act(static_cast<std::uint32_t>(rank));
    }
  }
};
/// A world, of `size` processes from number `first` on.
struct Describe {
  std::string name_space;
  std::uint32_t first = 0, size = 0;
  std::vector<Node> nodes;
  std::uint32_t host = 0;                     // this one's index in the job
  std::string host_name;                      // what it is called among the nodes, if it is one of them
  std::vector<std::uint32_t> programs = {0};  // the first rank of each
  bool shares_machine = false;                // with other hosts of the job
  std::uint32_t universe = 0;                 // MPI_UNIVERSE_SIZE; 0: `size`
  std::optional<std::uint32_t> parent;        // the process that had them started
  /// The ranks that are on this host.
  std::vector<std::uint32_t> here() const;
};
/// What was entered by this call is over: `given` by all hosts; or why it has failed.
struct Over {
  std::uint64_t call = 0;
  std::string failure;
  wire::Blob given;
  std::uint64_t id = 0;  // of a fence: the same for all who are in it, and no other one's in the job
};
/// The name that this call was about: its value, if it was looked up.
struct Named {
  std::uint64_t call = 0;
  std::string failure, value;
};
/// Another host wants to know what the process has given; answer Given, with this call.
struct Wanted {
  std::uint64_t call = 0;
  std::uint32_t process = 0;
};
/// What was wanted by this call has begun, from that process on; or why it has not.
struct Born {
  std::uint64_t call = 0;
  std::string failure;
  std::uint32_t first = 0;
};
/// What was said by this call has been heard.
struct Taken {
  std::uint64_t call = 0;
};
/// These processes of the job are lost, and it goes on: who has asked for that is told.
struct Lost {
  std::vector<wire::ProcessSet::Range> processes;
};
/// The process has ended; answer Heard.
struct Exited {
  std::uint32_t process = 0;
};

// ---- the helper's

/// The processes of that world that are on this host may be started, each with these variables
/// ("NAME=value"), as they rise.
struct Serving {
  std::uint32_t first = 0;
  std::vector<std::vector<std::string>> variables;
};
/// There is no PMIx here.
struct Failed {
  std::string why, fix;
};
struct Connected {
  std::uint32_t process = 0;
};
struct Finalized {
  std::uint32_t process = 0;
};
struct Aborting {
  std::uint32_t process = 0;
  std::int32_t status = 0;
  std::string text;
};
/// All processes of this host that take part are in a fence. Answer Over.
struct Entered {
  std::uint64_t call = 0;
  std::vector<wire::ProcessSet::Range> processes;  // of the job, that take part
  std::string given;
  std::string name;  // of the group that they make or give up by it
};
/// A process of this host wants to know what this one has given, which is on another host. Answer Over.
struct Inquiring {
  std::uint64_t call = 0;
  std::uint32_t about = 0;
};
/// A process publishes a name, or looks it up, or takes it back. Answer Named.
struct Naming {
  std::uint64_t call = 0;
  std::uint32_t process = 0;
  wire::NameInquiry::Deed deed = wire::NameInquiry::Deed::publish;
  std::string name, value;
};
/// A process wants others to be started. Answer Born.
struct Bearing {
  std::uint64_t call = 0;
  std::uint32_t process = 0;
  std::vector<wire::ProgramWanted> programs;
};
struct Given {
  std::uint64_t call = 0;
  std::string failure, bytes;
};
/// Text for the user. Answer Taken.
struct Logged {
  std::uint64_t call = 0;
  std::uint32_t process = 0;  // wire::kNoProcess: the library itself has something to say
  std::string text;
};
/// All that the process has said has been told.
struct Heard {
  std::uint32_t process = 0;
};

using Message =
    std::variant<Describe, Over, Named, Wanted, Born, Taken, Lost, Exited, Serving, Failed, Connected,
                 Finalized, Aborting, Entered, Inquiring, Naming, Bearing, Given, Logged, Heard>;

/// All that the processes of a job give for a fence goes in one.
inline constexpr std::size_t kMostFrame = 1U << 30;

/// One frame; empty: it is too large for one.
std::string encode(const Message& message);

/// Cuts what one of the two says into messages. What it may not say breaks the connection.
class Decoder {
public:
  enum class From : std::uint8_t { launcher, helper };
  explicit Decoder(From whom) : from_(whom), decoder_(kMostFrame) {}
  void append(std::string_view bytes) { decoder_.append(bytes); }
  /// Nothing if more bytes are needed; an error (bad_peer) repeats for ever.
  Result<std::optional<Message>> next();

private:
  From from_;
  wire::FrameDecoder decoder_;
  bool broken_ = false;
};

}  // namespace charmtree::pmix
