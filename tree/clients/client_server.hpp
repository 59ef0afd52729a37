// SPDX-License-Identifier: Apache-2.0
// The plug between a launcher and the processes on its host (DESIGN D7). A ClientServer speaks one protocol
// (Charm++, native, PMI, PMIx) on the connections that it is given and translates between that protocol and
// the one vocabulary of the tree. It is pure: bytes and time in, ClientOutputs out. It knows the processes of
// its own host only, and nothing of other hosts or of policy: whether an abort ends the job is for others to
// decide.
//
// Process numbers here are the job's. A connection becomes a process when it registers with a number that is
// expected on this host and not yet taken; whatever else connects is dropped without harm to anybody (bounded
// count, size and time).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tree/base/error.hpp"
#include "tree/base/one_of.hpp"
#include "tree/base/time.hpp"
#include "tree/clients/client_silence.hpp"
#include "tree/clients/local_processes.hpp"
#include "tree/clients/program_kind.hpp"
#include "tree/wire/ccs_replies.hpp"
#include "tree/wire/fence.hpp"
#include "tree/wire/messages.hpp"
#include "tree/wire/node_table.hpp"
#include "tree/wire/port_kind.hpp"
#include "tree/wire/process_set.hpp"
#include "tree/wire/ring_runs.hpp"
#include "tree/wire/silence.hpp"

namespace charmtree::proto {

/// One connection of a client; given by the shell, never reused within a launcher's life.
using ClientId = std::uint64_t;

/// Which local server a client connection belongs to; at the root, `ccs` for clients of the running job.
enum class ClientKind : std::uint8_t { charm, native, pmi, pmix, ccs };
inline constexpr std::size_t kClientKinds = 4;  // that processes use

enum class Stream : std::uint8_t {
  out = 1,
  err = 2,
  terminal = 3,  // raw, of the process that has one (++interactive); shown on stdout
};
enum class BarrierKind : std::uint8_t {
  all,    // released to every process
  root,   // Charm++ `barrier0`: released to process 0 only
  leave,  // native: everybody has finalised and may exit
};
inline constexpr std::uint8_t kBarrierKinds = 3;

// ---- for the shell

/// What all who get the same `coded` have in the same memory, in the form in which it is read there.
struct SharedContent {
  enum class Form : std::uint8_t {
    table,   // tree/wire/shared_table.hpp
    values,  // tree/wire/shared_values.hpp
    text,    // as it is, with a NUL behind it
  };
  wire::Blob coded = {};  // null: none
  Form form = Form::table;
};
/// A socket that is bound for the process of this rank among so many of its host.
struct PassedPort {
  wire::PortKind kind = wire::PortKind::tcp;
  std::uint32_t rank = 0, of = 1;
  std::string otherwise = {};  // these bytes instead, if there is none
};
/// `bytes`, then `tail` (may be null), which many clients share. With the bytes goes a descriptor: of memory
/// with `shared`, if that has any content, or of `port`.
struct ToClient {
  ClientId client;
  std::string bytes;
  wire::Blob tail = {};
  SharedContent shared = {};
  std::optional<PassedPort> port = {};
};
/// Send what is queued, then close.
struct CloseClient {
  ClientId client;
};

// ---- for the engine

/// The process has a connection and told its I-tuple. Once per process.
struct Registered {
  std::uint32_t process;
  wire::Tuple tuple;
  ClientId client = 0;
};
/// The process speaks the server's protocol, and tells no I-tuple: nobody waits for it in the node table.
/// Once per process.
struct Joined {
  std::uint32_t process;
};
/// The process speaks a protocol that no launcher of this version does; `why` is for the user. Its connection
/// is closed. Once per process.
struct Refused {
  std::uint32_t process;
  std::string why;
};
struct BarrierEntered {
  std::uint32_t process;
  BarrierKind kind;
};
/// All processes of this host that take part have entered the fence.
struct FenceEntered {
  wire::Fence fence;
  std::uint32_t processes = 0;  // of this host, that take part
  std::string given;            // their contributions
  std::uint64_t requests = 0;   // that they have made since their last fence; 0: not counted
};
/// A fence is over for all of its processes.
struct FenceDone {
  wire::Fence fence;
  std::string failure;  // why it has failed; empty: it has not
  wire::Blob given;     // the contributions of all hosts, one after the other; null or empty if it has failed
};
/// All processes of this host have entered the ring of the job with that number (from 1).
struct RingEntered {
  std::uint32_t number = 0;
  std::vector<wire::RingRun> runs;
};
/// The ring is over: the neighbours of each run of this host.
struct RingDone {
  std::uint32_t number = 0;
  std::vector<wire::RingEnds> ends;
};
/// Text of the process. If `wants_receipt`, the process waits until printed() is called.
struct Printed {
  std::uint32_t process;
  Stream stream;
  std::string text;
  bool wants_receipt;
};
/// The process waits for input that matches a scanf format.
struct ScanRequested {
  std::uint32_t process;
  std::string format;
};
/// The process is done and leaves as soon as finish() is called. Once per process; code as the program gave
/// it.
struct Ended {
  std::uint32_t process;
  int code;
  std::optional<std::uint32_t> peers = {};  // that it has used; nothing: it does not tell
};
/// The process asks for the end of the job. `code` is the exit status it wants (Charm++ gives none: 1).
struct Aborted {
  std::uint32_t process;
  int code;
  std::string text;
};
/// The connection of a registered process is gone, or it broke the protocol (`why`). Not sent after Ended or
/// finish().
struct ClientLost {
  std::uint32_t process;
  std::string why;
  bool is_cause = false;  // however it has ended by the time that this is told
};
/// The process answers the CCS request with this token, or says that there is no answer (not `answered`).
/// `failure`: why it has no answer from the process; then it is empty. `merge`: with those of other
/// processes.
struct RequestAnswered {
  std::uint32_t process;
  std::uint32_t token;
  bool answered;
  std::string bytes;
  std::string failure = {};
  wire::CcsMerge merge = {};
};
/// The node table is about to be written to the connection of this process: the next output. Raw output that
/// it has written so far is its own; once a stock Charm++ client has the table, all that it writes there is
/// a copy of what it sends as print messages.
struct TableDelivered {
  std::uint32_t process;
  ClientId client = 0;
};
/// The process knows of every crash that it was told of, the last one included (or has ended meanwhile).
struct CrashAcked {
  std::uint32_t process;
};
/// The process asks for another number of PEs for the job.
struct ResizeAsked {
  std::uint32_t process;
  std::uint32_t pes;
};
/// The process is a verbs client and gave one queue pair for each other process, wire::QueuePairs::kQueuePair
/// bytes each, by number. It waits until queue_pairs() is called. Once per process.
struct QueuePairsGiven {
  std::uint32_t process;
  std::string pairs;
};
/// The process has said nothing for a long time, though it should: it is to be looked at.
struct Unheard {
  std::uint32_t process;
  ClientId client;
};
/// Processes that wait for a helper of the server may be started now, each with these variables
/// ("NAME=value"), by number; none: no process waits for it any more. `failure`: why none may be.
struct ServerReady {
  std::map<std::uint32_t, std::vector<std::string>> variables;
  std::optional<Error> failure = {};
};
/// Processes of this host ask what it consists of: they are told by topology().
struct TopologyWanted {};
/// Something worth a line under ++verbose ("dropped a connection that sent no initnode").
struct ClientNote {
  std::string text;
};

using AnyClientOutput =
    AnyOf<ToClient, CloseClient, Registered, Joined, Refused, BarrierEntered, FenceEntered, RingEntered,
          wire::Inquiry, wire::InquiryReply, wire::NameInquiry, wire::WorldWanted, Printed, ScanRequested,
          Ended, Aborted, ClientLost, RequestAnswered, TableDelivered, CrashAcked, ResizeAsked,
          QueuePairsGiven, Unheard, wire::Silence, ServerReady, TopologyWanted, ClientNote>;
struct ClientOutput : AnyClientOutput {
  using AnyClientOutput::AnyClientOutput;
};
using ClientOutputs = std::vector<ClientOutput>;

class ClientServer {
public:
  virtual ~ClientServer() = default;

  // From the shell. `now` never goes back. A client id is passed to closed() at most once and never used
  // after it, nor after CloseClient was put out.
  /// Before opened(): of a connection that was made for this process, which cannot be anybody else's.
  virtual void made_for(ClientId, [[maybe_unused]] std::uint32_t process) {}
  virtual void opened(ClientId client, Instant now, ClientOutputs& out) = 0;
  virtual void received(ClientId client, std::string_view bytes, Instant now, ClientOutputs& out) = 0;
  virtual void closed(ClientId client, Instant now, ClientOutputs& out) = 0;
  /// Deadlines of connections that have not registered.
  virtual void tick(Instant now, ClientOutputs& out) = 0;
  virtual Instant next_deadline() const = 0;

  /// Lets `process`, which has registered and waits for the table, fork so many children, which register
  /// under the numbers after its own. False: its protocol has no such thing.
  virtual bool fork(std::uint32_t process, std::uint32_t children, ClientOutputs& out) = 0;

  // From the engine; each does nothing for processes that are not clients of this server.
  /// Hands the table (wire::encode of a NodeTable) to every registered process. Called once every process of
  /// the job has registered (with some server). A server that has no client does nothing: what it costs to
  /// look into a table grows with the job, not with the host.
  virtual void table(const wire::Blob& coded, ClientOutputs& out) = 0;
  virtual void release(BarrierKind kind, ClientOutputs& out) = 0;
  /// The text of the last Printed with wants_receipt of this process has been written out.
  virtual void printed(std::uint32_t process, ClientOutputs& out) = 0;
  /// Answer to ScanRequested: the consumed input.
  virtual void scanned(std::uint32_t process, std::string_view input, ClientOutputs& out) = 0;
  /// A CCS request for this process (payload of `req_fw`), to be answered by RequestAnswered.
  virtual void request(std::uint32_t process, std::string payload, ClientOutputs& out) = 0;
  /// Answer to QueuePairsGiven: what each process of the job gave for this one, its own place NUL.
  virtual void queue_pairs(std::uint32_t process, std::string_view pairs, ClientOutputs& out) = 0;
  /// Answers FenceEntered, of whatever server.
  virtual void fenced(const FenceDone&, ClientOutputs&) {}
  /// Answers RingEntered.
  virtual void ringed(const RingDone&, ClientOutputs&) {}
  /// What a process of this host has given is asked for: answer wire::InquiryReply.
  virtual void inquired(const wire::Inquired&, ClientOutputs&) {}
  /// Further processes belong to the job: those that are here have joined, and are about to be started.
  virtual void begun(const wire::WorldBegun&, ClientOutputs&) {}
  /// Answer to wire::Inquiry, wire::NameInquiry or wire::WorldWanted.
  virtual void answered(const wire::Answered&, ClientOutputs&) {}
  /// Answer to TopologyWanted, of whatever server: a file, or empty, and what is in it, or null.
  virtual void topology(const std::string& /*file*/, const wire::Blob& /*xml*/, ClientOutputs&) {}
  /// These processes of the job are lost, and the others go on: tells those that want to know.
  virtual void lost(const std::vector<wire::ProcessSet::Range>& processes, ClientOutputs& out) = 0;
  /// The job is over: lets every client go.
  virtual void finish(ClientOutputs& out) = 0;
  /// What its programs can do.
  virtual ProgramKind program() const = 0;

  /// The process is gone: of those that have no connection of their own, what is still to be heard comes.
  virtual void exited(std::uint32_t, ClientOutputs&) {}

  // Processes that hang.
  /// One that was Unheard has been looked at.
  virtual void seen(std::uint32_t, Sight, Instant, ClientOutputs&) {}

  // Processes that are lost and started again. Those whose protocol has the others wait until all know of it
  // get recover() and admit(), those whose has not renewed() and readmit().
  /// It is about to be started on this host, where it was not before.
  virtual void join(std::uint32_t) {}
  /// The process is gone, or is about to be: what is left of its connection is closed, and its number is free
  /// for the `restarts`-th that is started in its place. `is_awaited`: others have it in their table.
  virtual void vacate(std::uint32_t, [[maybe_unused]] std::uint32_t restarts,
                      [[maybe_unused]] bool is_awaited, ClientOutputs&) {}
  /// `crashed` was lost and has registered anew: every process that has a table gets this one and is told.
  /// Barriers are counted from the beginning: BarrierEntered again for those that wait in one.
  virtual void recover(const wire::Blob&, [[maybe_unused]] std::uint32_t crashed, ClientOutputs&) {}
  /// Hands the last table to a process that has registered anew.
  virtual void admit(std::uint32_t, ClientOutputs&) {}
  /// To all that have the table; nobody is in a barrier (BarrierKind::all) any more.
  virtual void renewed(const wire::Renewed&, ClientOutputs&) {}
  /// The table goes to a process that was started again, once it has registered.
  virtual void readmit(const wire::Readmit&, ClientOutputs&) {}

  // Jobs that are resized.
  /// Every process is let go; it may register once more.
  virtual void regroup(ClientOutputs&) {}
  /// The processes of this host are now these; the one at place i was started, or is, as number `names`[i].
  /// Those that have registered under that name keep their connection.
  virtual void reshape(const LocalProcesses&, [[maybe_unused]] const std::vector<std::uint32_t>& names) {}
};

/// One for each ClientKind that processes use, in that order: a new protocol has its line here.
std::array<std::unique_ptr<ClientServer>, kClientKinds> make_client_servers(const wire::JobSpec& job,
                                                                            const LocalProcesses& local,
                                                                            std::uint32_t host);

}  // namespace charmtree::proto

extern template struct charmtree::FunctionsOf<charmtree::proto::AnyClientOutput>;
