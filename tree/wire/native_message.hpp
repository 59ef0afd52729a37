// SPDX-License-Identifier: Apache-2.0
// What a native client (client-lib) and the launcher of its host say to each other over the host's
// unix-domain socket: one frame (tree/wire/frame.hpp) per message. The client speaks first (Hello, answered
// by Welcome or Refused), tells its tuple (Put), gets the Table once everybody has done so, and leaves by
// Finalize, answered by Finished when the job is over. A decoder takes the messages of one direction only: a
// client cannot say what only a launcher may, and the reverse.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tree/base/one_of.hpp"
#include "tree/base/result.hpp"
#include "tree/wire/ccs_replies.hpp"
#include "tree/wire/fence.hpp"
#include "tree/wire/frame.hpp"
#include "tree/wire/mpi_service.hpp"
#include "tree/wire/node_table.hpp"
#include "tree/wire/peers_used.hpp"
#include "tree/wire/port_kind.hpp"
#include "tree/wire/process_set.hpp"
#include "tree/wire/ring_runs.hpp"

namespace charmtree::wire::native {

/// Of the messages, not of the library. A launcher refuses a client of any other version.
inline constexpr std::uint32_t kVersion = 10;

inline constexpr std::size_t kMaxLibrary = 32;           // bytes of Hello::library
inline constexpr std::size_t kMaxHello = 64;             // bytes of a Hello frame, header included
inline constexpr std::size_t kMaxPrint = 256U << 10;     // bytes of one Print
inline constexpr std::size_t kMaxAbortText = 16U << 10;  // bytes
inline constexpr std::size_t kMaxWhy = 1024;             // bytes
inline constexpr std::size_t kMaxHandler = 31;           // bytes of a CCS handler's name, at least one
inline constexpr std::size_t kMaxHandlers = 1024;        // of a process
inline constexpr std::size_t kMostListeners = 64;        // prefixes of Listen, of a process
inline constexpr std::size_t kMaxReply = CcsReplies::kMaxBytes;  // of the reply to a CCS request
inline constexpr std::size_t kMaxLost = 4096;                    // ranges in one Lost
inline constexpr std::size_t kMaxLayout = 4096;                  // runs in Welcome::layout
inline constexpr std::size_t kPiece = 512U << 10;                // bytes of CCS data in one message

// ---- client to launcher

struct Hello {
  std::uint32_t version = kVersion;  // comes first in every version; the rest is empty if it is not ours
  std::uint32_t process = 0;         // the job's number, as the environment of the process says
  std::uint32_t pid = 0;             // for people who read notes; nobody is signalled by it
  std::string library;               // version of the client library
  friend bool operator==(const Hello&, const Hello&) = default;
};
/// The process's I-tuple. Once, before anything but PortWanted, Offer, Ask, Listen, Answer, Print and
/// Abort.
struct Put {
  std::string tuple;  // at most kMaxTuple bytes
  friend bool operator==(const Put&, const Put&) = default;
};
/// Of the epoch that the process has heard of last: it is in no barrier of another one.
struct BarrierEnter {
  std::uint32_t epoch = 0;
  friend bool operator==(const BarrierEnter&, const BarrierEnter&) = default;
};
enum class Stream : std::uint8_t { out = 1, err = 2 };
struct Print {
  Stream stream = Stream::out;
  std::string text;
  friend bool operator==(const Print&, const Print&) = default;
};
/// The last message: asks for the end of the job with this status.
struct Abort {
  std::int32_t code = 1;
  std::string text;
  friend bool operator==(const Abort&, const Abort&) = default;
};
/// The process answers CCS requests for this handler; what several processes reply is merged so.
struct Handler {
  std::string name;
  CcsMerge merge;
  friend bool operator==(const Handler&, const Handler&) = default;
};
/// To the request with this token; too late for one that was given up, it is ignored. If `bytes` are not the
/// whole, ReplyData follow at once.
struct Reply {
  std::uint32_t token = 0;
  std::uint32_t size = 0;  // of the whole
  std::string bytes;       // at most kPiece
  friend bool operator==(const Reply&, const Reply&) = default;
};
struct ReplyData {
  std::string bytes;  // 1 ... kPiece
  friend bool operator==(const ReplyData&, const ReplyData&) = default;
};
/// The process has taken the request with this token and will reply later, if at all.
struct Kept {
  std::uint32_t token = 0;
  friend bool operator==(const Kept&, const Kept&) = default;
};
/// Enters the next fence of these processes, or of the job, or its next ring; FenceOver says when it is over,
/// and RingOver when a ring has gone well.
struct FenceEnter {
  enum class Gives : std::uint8_t {
    pairs,  // tree/wire/shared_values.hpp: for all who ask
    value,  // for those that take part, by its number
    ring,   // for the neighbours, at most kMostRingValue bytes; of the job
  };
  std::uint32_t id = 0;  // for FenceOver
  Gives gives = Gives::pairs;
  std::vector<ProcessSet::Range> processes;  // rise, with gaps between them; none: all of the job
  std::string given;                         // at most kMostGiven bytes
  friend bool operator==(const FenceEnter&, const FenceEnter&) = default;
};
/// Tells the processes of this host something, under a name. Answer: Attribute.
struct AttributePut {
  std::string name, value;
  friend bool operator==(const AttributePut&, const AttributePut&) = default;
};
/// Asks for what a process of this host has told so. Answer: Attribute, one at a time.
struct AttributeWanted {
  std::string name;
  bool waits = false;  // until one has
  friend bool operator==(const AttributeWanted&, const AttributeWanted&) = default;
};
/// Keeps this for those that ask the process for it; a key that is offered again has another value from then
/// on.
struct Offer {
  std::string key;    // 1 ... kMostKeyBytes
  std::string value;  // at most kMostGiven bytes
  friend bool operator==(const Offer&, const Offer&) = default;
};
/// Asks for what a process of the job offers, now or later. Answer: Told.
struct Ask {
  std::uint32_t id = 0;  // for Told
  std::uint32_t process = 0;
  std::string key;
  friend bool operator==(const Ask&, const Ask&) = default;
};
/// From now on, or no more: Asked tells the process what it is asked for under keys that begin so, those that
/// have been asked before, too.
struct Listen {
  std::string prefix;  // 1 ... kMostKeyBytes
  bool is_on = true;
  friend bool operator==(const Listen&, const Listen&) = default;
};
/// What a process has asked for, told to that one alone, and not kept. Nobody waits for it any more: nothing.
struct Answer {
  std::uint32_t process = 0;  // that has asked
  std::string key;            // 1 ... kMostKeyBytes
  std::string value;          // at most kMostGiven bytes
  friend bool operator==(const Answer&, const Answer&) = default;
};
/// A socket that is bound to a port: once for each kind. Answer: Port.
struct PortWanted {
  PortKind kind = PortKind::tcp;
  friend bool operator==(const PortWanted&, const PortWanted&) = default;
};
/// What the host consists of. Answer: Topology.
struct TopologyWanted {
  friend bool operator==(const TopologyWanted&, const TopologyWanted&) = default;
};
/// The last message: the process is done and waits for Finished.
struct Finalize {
  std::int32_t code = 0;
  std::uint32_t peers = 0;  // others that it has looked up or asked; kMostPeersTold: or more
  friend bool operator==(const Finalize&, const Finalize&) = default;
};

// ---- launcher to client

/// Guaranteed by the decoder: process < total <= kMaxProcesses, and local_rank < local_size <= total; `local`
/// has as many, of the job, with `process` at its rank, and `layout` all, or none. A host has its first
/// processes in the order of their numbers, others that have been moved there behind them.
struct Welcome {
  std::uint32_t process = 0;
  std::uint32_t total = 1;
  std::uint32_t local_rank = 0;
  std::uint32_t local_size = 1;
  std::uint32_t host = 0;                // index in the job's host list
  std::uint32_t epoch = 0;               // of the table that is in force or comes next
  std::uint32_t restarts = 0;            // so many have been started under its number before
  std::uint32_t hosts = 1;               // in that list
  std::vector<ProcessSet::Range> local;  // the processes of the host, in the order of their local ranks
  std::vector<HostRun> layout;           // where all were started; empty: it is not told
  friend bool operator==(const Welcome&, const Welcome&) = default;
};
/// Comes with a descriptor of memory that holds the table (tree/wire/shared_table.hpp).
struct Table {
  friend bool operator==(const Table&, const Table&) = default;
};
struct BarrierRelease {
  friend bool operator==(const BarrierRelease&, const BarrierRelease&) = default;
};
/// A CCS request for a handler of the process. If `bytes` are not the whole, RequestData follow at once.
struct Request {
  std::uint32_t token = 0;
  std::string handler;
  std::uint32_t address = 0;  // of the client as this host can reach it: IPv4, host byte order
  std::uint16_t port = 0;
  std::uint32_t size = 0;  // of the whole
  std::string bytes;       // at most kPiece
  friend bool operator==(const Request&, const Request&) = default;
};
struct RequestData {
  std::string bytes;  // 1 ... kPiece
  friend bool operator==(const RequestData&, const RequestData&) = default;
};
/// These processes are lost, and the others go on without them. Guaranteed by the decoder: no range is
/// reversed.
struct Lost {
  std::vector<ProcessSet::Range> processes;  // at most kMaxLost
  friend bool operator==(const Lost&, const Lost&) = default;
};
/// Processes have been started again and have these tuples in the table, which is of this epoch now. Whoever
/// is in a barrier is in it no longer, and may enter it again.
struct Renewed {
  std::uint32_t epoch = 0;
  std::vector<TupleBlock> blocks;
  friend bool operator==(const Renewed&, const Renewed&) = default;
};
/// For a process that was started again, before its table: so many barriers have opened without it.
struct Missed {
  std::uint32_t barriers = 0;
  friend bool operator==(const Missed&, const Missed&) = default;
};
/// Comes with a descriptor of memory that holds values (tree/wire/shared_values.hpp). They are newer than
/// those in the first `below` of such that the process has; the others are void.
struct Values {
  std::uint32_t below = 0;
  friend bool operator==(const Values&, const Values&) = default;
};
/// All are in it, and Values before this message have what they gave; or it has failed. One to which values
/// were given comes with a descriptor of them (wire::key_of).
struct FenceOver {
  std::uint32_t id = 0;
  std::string failure;  // empty: none
  friend bool operator==(const FenceOver&, const FenceOver&) = default;
};
/// All are in the ring, and the neighbours of the process have given these.
struct RingOver {
  std::uint32_t id = 0;
  std::string left, right;
  friend bool operator==(const RingOver&, const RingOver&) = default;
};
/// What was asked for, or why it cannot be had.
struct Told {
  std::uint32_t id = 0;
  std::string failure;  // empty: none
  std::string value;
  friend bool operator==(const Told&, const Told&) = default;
};
/// Process `process` asks for what this one has not offered. Once, unless it is answered, and asked again.
struct Asked {
  std::uint32_t process = 0;
  std::string key;
  friend bool operator==(const Asked&, const Asked&) = default;
};
struct Attribute {
  bool is_there = false;  // of one that was put: it is taken
  std::string value;
  friend bool operator==(const Attribute&, const Attribute&) = default;
};
/// Comes with the descriptor of the socket, if there is one.
struct Port {
  PortKind kind = PortKind::tcp;
  bool is_there = true;
  friend bool operator==(const Port&, const Port&) = default;
};
/// Comes with a descriptor of memory that holds it (hwloc's XML, with a NUL behind it), if there is any.
struct Topology {
  bool is_there = true;
  friend bool operator==(const Topology&, const Topology&) = default;
};
/// Everybody has finalized, or the job is over: the process may leave.
struct Finished {
  friend bool operator==(const Finished&, const Finished&) = default;
};
/// Answer to a Hello that is not accepted. The launcher closes.
struct Refused {
  std::string why;
  friend bool operator==(const Refused&, const Refused&) = default;
};

// The places of messages in these are their numbers on the wire.
using AnyFromClient =
    AnyOf<Hello, Put, BarrierEnter, Print, Abort, Finalize, Handler, Reply, ReplyData, Kept, FenceEnter,
          AttributePut, AttributeWanted, PortWanted, Offer, Ask, TopologyWanted, Listen, Answer>;
struct FromClient : AnyFromClient {
  using AnyFromClient::AnyFromClient;
};
using AnyFromLauncher =
    AnyOf<Welcome, Table, BarrierRelease, Finished, Refused, Request, RequestData, Lost, Renewed, Missed,
          Values, FenceOver, RingOver, Attribute, Port, Told, Topology, Asked>;
struct FromLauncher : AnyFromLauncher {
  using AnyFromLauncher::AnyFromLauncher;
};

/// One message as a complete frame. Texts beyond their limit are cut; a tuple must be within its own.
std::string to_frame(const FromClient& message);
/// The same.
std::string to_frame(const FromLauncher& message);

/// A Request or Reply with as many messages of data behind it as `data` takes, as frames; its own size and
/// bytes are set. Precondition: data.size() <= UINT32_MAX.
std::string to_frames(Request request, std::string_view data);
std::string to_frames(Reply reply, std::string_view data);

/// As many Lost messages as it takes.
std::string lost_frames(const std::vector<ProcessSet::Range>& processes);

/// The message in a frame, or bad_peer: unknown type, a value out of bounds, bytes missing or left over.
Result<FromClient> decode_from_client(const Frame& frame);
Result<FromLauncher> decode_from_launcher(const Frame& frame);

}  // namespace charmtree::wire::native

extern template struct charmtree::FunctionsOf<charmtree::wire::native::AnyFromClient>;
extern template struct charmtree::FunctionsOf<charmtree::wire::native::AnyFromLauncher>;
