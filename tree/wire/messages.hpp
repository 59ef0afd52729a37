// SPDX-License-Identifier: Apache-2.0
// Every message between launchers: the protocol's table of contents. A message has a direction; a launcher
// that receives one from the wrong side closes that link (DESIGN D2). The job description and the node table
// are the same for everybody, so they travel as shared, coded bytes that a launcher hands on as they are.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tree/base/result.hpp"
#include "tree/base/time.hpp"
#include "tree/wire/ccs_replies.hpp"
#include "tree/wire/checkup.hpp"
#include "tree/wire/cpus.hpp"
#include "tree/wire/host.hpp"
#include "tree/wire/job_spec.hpp"
#include "tree/wire/kvs_messages.hpp"
#include "tree/wire/message.hpp"
#include "tree/wire/node_table.hpp"
#include "tree/wire/peers_used.hpp"
#include "tree/wire/process_set.hpp"
#include "tree/wire/repair_messages.hpp"
#include "tree/wire/run_messages.hpp"
#include "tree/wire/share.hpp"
#include "tree/wire/silence.hpp"

namespace charmtree::wire {

// ---- down: parent to child

/// First message on a link: who you are.
struct Welcome {
  CT_MESSAGE(down, 0);
  Blob job;
  Host self;
  std::uint32_t level = 1;
};
/// Hosts to start below you, with this part of the login rate.
struct Assign {
  CT_MESSAGE(down, 1);
  std::vector<Host> hosts;
  std::uint64_t login_rate = 0;
};
/// Every host has answered or been given up: which processes each that is left starts now. Coded Shares;
/// none: those that it was given with its Welcome.
struct Numbers {
  CT_MESSAGE(down, 10);
  Blob shares;
  std::uint32_t pes_per_process = 1;
};
Blob encode(const std::vector<Share>& shares);
/// Error bad_peer unless the hosts rise and each one's processes follow those of the one before.
Result<std::vector<Share>> decode_shares(std::string_view bytes);

/// The complete node table: Writer form of epoch, pes_per_process and blocks.
struct TableDown {
  CT_MESSAGE(down, 2);
  Blob table;
};
Blob encode(const NodeTable& table);
Result<NodeTable> decode_table(std::string_view bytes);
/// The epoch of a coded table, which is not looked into any further.
std::uint32_t epoch_of(std::string_view table);

/// A barrier opens. Values of proto::BarrierKind.
struct Release {
  CT_MESSAGE(down, 3);
  std::uint8_t kind = 0;
};
/// The text for which `process` waits has been written out.
struct Receipt {
  CT_MESSAGE(down, 4);
  std::uint32_t process = 0;
};
struct ScanReply {
  CT_MESSAGE(down, 5);
  std::uint32_t process = 0;
  std::string input;
};
enum class EndMode : std::uint8_t {
  finish,  // the program is done: let clients go, after the grace SIGKILL what is left
  stop,    // ask with `signal`, after the grace SIGKILL
  kill,    // SIGKILL now
};
struct End {
  CT_MESSAGE(down, 8);
  EndMode mode = EndMode::finish;
  std::uint8_t signal = 15;
  bool stay = false;  // launchers stay for the next run: they answer Idle, not Done
};
/// To every process; it changes nothing else.
struct ForwardSignal {
  CT_MESSAGE(down, 20);
  std::uint8_t signal = 0;
};
/// All processes stop, and the job's time stands still (proto::JobClock); or both go on.
struct Suspend {
  CT_MESSAGE(down, 21);
  bool on = true;
};
/// Queue pairs of verbs clients: what each of `sources` processes gave for each of `targets` others, source
/// by source, kQueuePair bytes each (Charm++'s lid, qpn and psn as they came). Both ranges are one host's.
struct QueuePairs {
  static constexpr std::size_t kQueuePair = 12;
  std::uint32_t first_source = 0, sources = 0;
  std::uint32_t first_target = 0, targets = 0;
  std::string pairs;
  bool well_formed() const {
    return pairs.size() / kQueuePair / (targets == 0 ? 1 : targets) == sources &&
           pairs.size() == std::uint64_t{sources} * targets * kQueuePair;
  }
  friend bool operator==(const QueuePairs&, const QueuePairs&) = default;
};
struct QueuePairsDown {
  CT_MESSAGE(down, 19);
  QueuePairs block;
};
/// Instead of Welcome: kill what the lost launcher of `host` in job `id` left on this host, answer Swept.
struct Sweep {
  CT_MESSAGE(down, 9);
  std::string id;
  std::uint32_t host = 0;
};
/// Start this lost process anew. A Charm++ program's arguments tell it the phase: 2 after the first loss of
/// the job.
struct Restart {
  CT_MESSAGE(down, 12);
  std::uint32_t process = 0;
  std::uint32_t phase = 0;
  std::uint32_t restarts = 0;  // of this process, this one included
  bool input_ended = false;    // its stdin is at its end from the beginning
  bool awaited = false;        // others have, or will have, one of its number in their table
};
/// These lost processes are on other hosts from now on, where they are about to be started (Restart).
struct Moved {
  CT_MESSAGE(down, 35);
  std::vector<Share> shares;  // several of one host may follow each other
};
/// A lost process has registered anew: every process that has a table gets this one, of the next epoch, and
/// learns who was lost. Those in `joining` do not: they wait for an Admit.
struct Recover {
  CT_MESSAGE(down, 13);
  std::uint32_t crashed = 0;
  std::vector<std::uint32_t> joining;
  Blob table;
};
/// All others know that this process was lost: it gets the table of the last Recover.
struct Admit {
  CT_MESSAGE(down, 14);
  std::uint32_t process = 0;
};
/// These processes are lost, and the others go on without them. With it a new epoch begins: what launchers
/// have counted of barriers is void, and each tells anew which of its own processes that live are in one.
struct Lost {
  CT_MESSAGE(down, 24);
  std::uint32_t epoch = 0;
  std::vector<ProcessSet::Range> processes;
};
/// Lost processes of the client library are there again, with these tuples: part of the table of everybody
/// who has one, which is of this epoch now. As with Lost, what launchers have counted of barriers is void;
/// clients that are in one enter it again.
struct Renewed {
  CT_MESSAGE(down, 27);
  std::uint32_t epoch = 0;
  std::vector<TupleBlock> blocks;  // of one process each, or of neighbours
};
/// Behind its Renewed: such a process gets the table.
struct Readmit {
  CT_MESSAGE(down, 28);
  std::uint32_t process = 0;
  std::uint32_t barriers = 0;  // of all processes, that have opened so far
  Blob table;
};
/// The job is to be resized: every process is let go, and either registers again or leaves.
struct Regroup {
  CT_MESSAGE(down, 17);
};
/// Those that have stayed and new ones get these numbers (coded Shares), on each host in the old order, new
/// ones last; `arguments` are from now on the program's.
struct Reshape {
  CT_MESSAGE(down, 18);
  Blob shares;
  std::vector<std::string> arguments;
};
/// The root's answer to a SignRequest, for the launcher that asked.
struct SignReply {
  CT_MESSAGE(down, 11);
  std::uint32_t launcher = 0;  // its host
  std::uint32_t login = 0;     // its own number
  std::string signature;       // without the algorithm's name; empty: refused
};

/// So long are the pieces of CCS requests and answers, so that other messages pass between them.
inline constexpr std::size_t kCcsPiece = 1U << 20;

/// The child may send so much more output (proto::output_cost).
struct OutputCredit {
  CT_MESSAGE(down, 22);
  std::uint64_t bytes = 0;
};

/// A piece of a CCS request (payload of `req_fw`) for a process; pieces of one process come in order.
struct CcsForward {
  CT_MESSAGE(down, 15);
  std::uint32_t process = 0;
  bool last = true;
  std::string bytes;
};

/// A piece of a CCS request for several processes that do not spread it themselves. Each launcher merges the
/// answers that come up to it (CcsAnswer, its bytes coded CcsReplies). All pieces of one come in a row.
struct CcsSpread {
  CT_MESSAGE(down, 23);
  std::uint32_t token = 0;
  bool first = true, last = true;
  bool everybody = false;  // the next are for the first piece
  std::vector<ProcessSet::Range> processes = {};
  std::string bytes;
};

/// Nothing but a sign of life.
struct Beat {
  CT_MESSAGE(down, 25);
};
/// Answer to WasPunctual.
struct Punctual {
  CT_MESSAGE(down, 26);
  bool yes = true;
};

// ---- up: child to parent

struct Hello {
  CT_MESSAGE(up, 46);
  Instant clock;  // of the child, when it sent this
  std::uint32_t pid = 0;
};
struct HostFailure {
  std::uint32_t host = 0;
  Error error;
  friend bool operator==(const HostFailure&, const HostFailure&) = default;
};
/// How a process ended, for the judge. `registered`, `ended`: what it had told its launcher before.
struct ProcessExit {
  std::uint32_t process = 0;
  std::uint8_t code = 0;
  std::uint8_t signal = 0;  // 0: exited with `code`
  bool core = false;
  bool registered = false;
  bool ended = false;
  bool lost_connection = false;  // it may still be alive: its connection ended or broke the protocol
  bool restartable = false;      // a registered process of a program that restarts its processes
  bool refused = false;          // it may still be alive: no launcher of ours can serve it
  std::string text;              // e.g. the loader's line about a missing library, or where the core file is
  std::string last_words;        // on stderr, as it wrote them; of the first on each host alone
  bool hung = false;             // it was silent for too long, and so was killed by its launcher
  bool asked = false;            // its launcher had been told to end it
  friend bool operator==(const ProcessExit&, const ProcessExit&) = default;
};
struct Code {
  std::uint32_t process = 0;
  std::int32_t code = 0;
  friend bool operator==(const Code&, const Code&) = default;
};
/// Whose launcher started that of a host; kRootIndex: the root.
struct StartedBy {
  std::uint32_t host = 0;
  std::uint32_t by = 0;
  friend bool operator==(const StartedBy&, const StartedBy&) = default;
};
/// What its host's kernel calls each of some processes, whose numbers follow each other.
struct ProcessIds {
  std::uint32_t host = 0, first = 0;
  std::vector<std::uint32_t> ids;  // 0: not known
  friend bool operator==(const ProcessIds&, const ProcessIds&) = default;
};
/// What happened below, merged at every level.
struct Facts {
  CT_MESSAGE(up, 47);
  std::vector<std::uint32_t> hosts_up;  // their processes are started, or wait for Numbers
  std::vector<HostFailure> hosts_failed;
  std::vector<TupleBlock> blocks;
  std::uint32_t epoch = 0;                 // of the table or loss that `barrier` and `crash_acks` belong to
  std::array<std::uint32_t, 3> barrier{};  // processes that entered, by BarrierKind
  std::uint32_t crash_acks = 0;            // processes that know of the crash that led to that table
  std::uint32_t registered = 0;
  std::uint32_t joined = 0;                  // processes that speak MPI, for whom others may wait
  std::uint32_t ended = 0;                   // processes that sent `ending`
  std::optional<Code> code;                  // the first non-zero code among them
  std::uint32_t exited_ok = 0;               // unregistered (or finalised) processes that exited with 0
  std::optional<std::uint32_t> first_ok;     // the lowest of those that had not registered
  std::vector<ProcessExit> exits;            // all others that matter
  std::vector<HostTopology> topologies;      // of hosts_up, where the job counts by them
  std::vector<std::uint32_t> random_layout;  // hosts of Charm++ clients whose addresses could not be fixed
  std::vector<std::uint32_t> blind;          // hosts of Prepared::blind
  std::vector<ProcessSet::Range> who_ended;  // those counted in `ended` and `exited_ok`, if names_who_ended()
  std::vector<StartedBy> started_by;         // of hosts_up and the adopted, if names_who_started()
  std::vector<ProcessIds> process_ids;       // of processes that have been started
  PeersUsed peers;                           // by clients of the library among those that have ended here
  bool empty() const;
  /// The same; nothing, if it would be of others.
  PeersUsed peers_of_ended() const;
};
/// What stands behind the last newline of a piece of output.
enum class Tail : std::uint8_t {
  waited,    // nothing, or the beginning of a line that has been held back for long enough
  prompt,    // the beginning of a line that must be seen now
  too_long,  // as much of a line as is kept in one piece; the rest follows
  ended,     // the last line of the stream, which has no newline
};
/// Output of a process, in order: whole lines, and what may stand behind them. A line may come in several
/// pieces.
struct Output {
  CT_MESSAGE(up, 48);
  std::uint32_t process = 0;
  std::uint8_t stream = 1;  // proto::Stream
  bool wants_receipt = false;
  std::string text;
  Tail tail = Tail::waited;
  Instant read = kNever;     // when it was read on its host, in the receiver's clock
  std::uint64_t number = 0;  // of a job that repairs itself: of the process's outputs, from 1
  bool is_oldest = false;    // then: a root has had all before it
};
struct ScanUp {
  CT_MESSAGE(to_root, 49);
  std::uint32_t process = 0;
  std::string format;
};
struct AbortUp {
  CT_MESSAGE(to_root, 50);
  std::uint32_t process = 0;
  std::int32_t code = 1;
  std::string text;
  std::string last_words;  // on stderr
};
/// The program wants to go on with so many PEs.
struct PesWanted {
  CT_MESSAGE(to_root, 66);
  std::uint32_t process = 0;
  std::uint32_t pes = 0;
};
/// In a Regroup: the process has left.
struct Left {
  CT_MESSAGE(to_root, 67);
  std::uint32_t process = 0;
};
/// A process that was started anew, or has stayed in a Regroup, has registered.
struct Rejoined {
  CT_MESSAGE(to_root, 63);
  std::uint32_t process = 0;
  std::uint16_t port = 0;
  Address address;    // of its host, as in TupleBlock
  std::string tuple;  // of a client of the client library
};
/// I have no host left to log in to and could start so many more; my part of the login rate goes back.
struct Ask {
  CT_MESSAGE(up, 60);
  std::uint32_t hosts = 1;
  std::uint64_t login_rate = 0;
};
/// These hosts could not be started from here (no key, no name): the next launcher on the way up may try.
struct HandBack {
  CT_MESSAGE(up, 51);
  std::vector<HostFailure> hosts;
};
/// A login of `launcher` to `host` has to be signed by one of the root's keys.
struct SignRequest {
  CT_MESSAGE(up, 61);
  std::uint32_t launcher = 0;  // its host
  std::uint32_t login = 0;     // its own number
  std::uint32_t host = 0;
  std::string data;  // see userauth.hpp
};
/// A host key taken on first use; the root writes it.
struct NewHostKey {
  CT_MESSAGE(to_root, 52);
  std::uint32_t host = 0;
  HostKey key;
};
struct QueuePairsUp {
  CT_MESSAGE(up, 68);
  QueuePairs block;
};
struct Note {
  CT_MESSAGE(to_root, 53);
  std::uint32_t host = 0;
  std::string text;
  bool for_everybody = false;  // not only with ++verbose
};
/// One launcher's start-up times. Each launcher that hands it up maps the instants to its own clock.
struct Stamps {
  CT_MESSAGE(to_root, 56);
  static constexpr std::size_t kTimes = 12;
  enum Step : std::uint8_t {
    begun,
    resolved,
    connected,
    handshaken,
    authenticated,
    executed,
    hello,  // seen by the parent
    prepared,
    spawned,
    registered,
    gathered,
    table  // its own
  };
  std::uint32_t host = 0;
  std::uint32_t parent = 0;  // host index; kRootIndex: the root
  std::uint32_t level = 0;
  std::uint32_t attempts = 1;
  std::array<Instant, kTimes> times = make_never();

  static constexpr std::array<Instant, kTimes> make_never() {
    std::array<Instant, kTimes> all{};
    all.fill(kNever);
    return all;
  }
};
inline constexpr std::uint32_t kRootIndex = UINT32_MAX;
/// The connection to a host that was up is gone, and with it these processes.
struct LinkLost {
  CT_MESSAGE(to_root, 57);
  std::uint32_t host = 0;
  Error error;
  std::vector<ProcessSet::Range> processes;  // there and below
  bool lives = false;  // nothing is lost, but something that its launcher had to say cannot be said
  std::vector<std::uint32_t> hosts = {};  // whose launchers are lost, where processes can be moved
  bool unbounded = false;                 // they need never notice that they are alone
};
/// Of a host whose launcher was lost: nothing of the job is left there.
struct Fenced {
  CT_MESSAGE(to_root, 77);
  std::uint32_t host = 0;
};
/// Nothing of the job is left on this host or below it. Last message of a link.
struct Done {
  CT_MESSAGE(up, 58);
  std::vector<std::uint32_t> unconfirmed;  // hosts that did not say so in time
};
struct Swept {
  CT_MESSAGE(up, 59);
  std::uint32_t killed = 0;
};
/// A piece of the answer to a CCS request; pieces of one token come in order.
struct CcsAnswer {
  CT_MESSAGE(to_root, 64);
  std::uint32_t process = 0;  // that sent it; of a multicast not the one that was asked
  std::uint32_t token = 0;
  bool answered = true;      // else the client gets none
  std::uint32_t length = 0;  // of the whole answer
  std::string bytes;
  std::string failure = {};  // why the process does not answer: then it is empty
  CcsMerge merge = {};       // with the answers of other processes
};

/// Where the processes of a host are bound, in their order.
struct Bindings {
  CT_MESSAGE(to_root, 65);
  std::uint32_t host = 0;
  std::vector<Binding> processes;
};

struct BeatUp {
  CT_MESSAGE(up, 69);
};
/// I suspect a child of mine: have my own beats come in time?
struct WasPunctual {
  CT_MESSAGE(up, 70);
};

using CoreMessages =
    MessageList<Welcome, Assign, TableDown, Release, Receipt, ScanReply, End, Sweep, Numbers, SignReply,
                Restart, Recover, Admit, CcsForward, Regroup, Reshape, QueuePairsDown, ForwardSignal, Suspend,
                OutputCredit, CcsSpread, Lost, Beat, Punctual, Renewed, Readmit, OutputTaken, Resend, Adopt,
                Relayed, Claim, Relaunch, Moved, Inquired, Answered, WorldBegun, Hello, Facts, Output, ScanUp,
                AbortUp, HandBack, NewHostKey, Note, Stamps, LinkLost, Done, Swept, Ask, SignRequest, Checkup,
                Rejoined, CcsAnswer, Bindings, PesWanted, Left, QueuePairsUp, BeatUp, WasPunctual, Waiting,
                Claimed, Taken, Reached, Idle, Confirmed, Fenced, Silence, Inquiry, InquiryReply, NameInquiry,
                WorldWanted>;
inline constexpr MessageTypes kCoreTypes{CoreMessages{}};

}  // namespace charmtree::wire
