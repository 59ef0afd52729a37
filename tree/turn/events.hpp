// SPDX-License-Identifier: Apache-2.0
// The whole vocabulary between the pure core and its shell. Events are what happened, Actions what the shell
// must do, in order. The real shell (tree/io) and the simulator speak exactly this.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tree/base/error.hpp"
#include "tree/base/time.hpp"
#include "tree/clients/client_server.hpp"
#include "tree/turn/binding.hpp"
#include "tree/turn/ending.hpp"
#include "tree/turn/event.hpp"
#include "tree/turn/job_status.hpp"
#include "tree/turn/looks.hpp"
#include "tree/turn/losses.hpp"
#include "tree/turn/user_actions.hpp"
#include "tree/wire/host.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree::proto {

/// A link of one launcher. 0 is the one to its parent; children get 1, 2, ... in the order of their logins, a
/// retry a new one.
using LinkId = std::uint32_t;
inline constexpr LinkId kParentLink = 0;
/// The one to a launcher that has come to adopt this one: LinkUp and LinkDown are about it, too.
inline constexpr LinkId kAdopterLink = UINT32_MAX;

// ---- events

/// The root's only start signal; other launchers start with their parent's Welcome.
struct Begin {
  using Family = Event;
};
/// When the steps of a login ended, in this launcher's clock.
struct LoginTimes {
  Instant begun = kNever, resolved = kNever, connected = kNever, handshaken = kNever, authenticated = kNever,
          executed = kNever;
};
/// The launcher on that host has greeted. `key.type` not empty: its host key was taken on first use.
struct LinkUp {
  using Family = Event;
  LinkId link;
  LoginTimes times;
  HostKey key;
  std::string note;
};
/// The login failed, or the launcher did not greet; the link does not exist.
struct LoginFailed {
  using Family = Event;
  LinkId link;
  Error error;
  std::string note;
};
struct LinkMessage {
  using Family = Event;
  LinkId link;
  wire::Message message;
};
/// A link that was up has ended or broke the protocol. kParentLink: the parent is gone.
struct LinkDown {
  using Family = Event;
  LinkId link;
  Error error;
};
/// A message was not sent, because its receiver would refuse it as too large. The link is as it was.
struct SendRefused {
  using Family = Event;
  LinkId link;
  Error error;
};
/// Answer to Prepare: the host is ready to start processes, or why not. `address`: that other hosts can
/// reach.
struct Prepared {
  using Family = Event;
  wire::Address address;
  Error error;
  bool ok = true;
  std::optional<wire::Checkup> checkup = {};  // of a job that is one
  std::optional<CpuMap> cpus = {};            // if the job needs them
  bool random_layout = false;  // the kernel refuses to fix the addresses of processes, as the job wants it
  bool can_fork = false;       // the program obeys `nodefork`; looked at only where layouts differ
  bool blind = false;  // what our parent's host acknowledges cannot be seen; looked at only if there may be
                       // another run
};
/// `id`: what its kernel calls it; 0: nobody needs to know.
struct Spawned {
  using Family = Event;
  std::uint32_t process;
  std::uint32_t id = 0;
};
/// Answer to AdoptProcess. `found` false: who it is does not show, and ProcessExited will not come.
struct ProcessAdopted {
  using Family = Event;
  std::uint32_t process;
  bool found;
  std::uint32_t id = 0;
};
struct SpawnFailed {
  using Family = Event;
  std::uint32_t process;
  Error error;
};
struct ProcessOutput {
  using Family = Event;
  std::uint32_t process;
  Stream stream;
  std::string bytes;
};
/// Answer to DrainOutput: what the process had written by then has come as ProcessOutput. For stdout and
/// stderr: what the client prints from now on it also writes to its terminal, or there (`copied`).
struct OutputDrained {
  using Family = Event;
  std::uint32_t process;
  std::array<bool, 2> on_terminal{};
  std::array<bool, 2> copied{true, true};
};
/// The process is gone and its pipes have been read empty once. `signal` 0: it exited with `code`.
struct ProcessExited {
  using Family = Event;
  std::uint32_t process;
  std::uint8_t code = 0;
  std::uint8_t signal = 0;
  bool core = false;
  bool unknown = false;  // adopted: how it ended does not show
  std::string note;      // killed by a signal: where its core file is, or that the kernel wanted its memory
};
struct ClientOpened {
  using Family = Event;
  ClientKind kind;
  ClientId client;
  std::uint32_t address = 0;  // of a CCS client: IPv4, host byte order
  std::uint16_t port = 0;
  std::uint32_t made_for = wire::kNoProcess;  // this process was started with it
};
struct ClientBytes {
  using Family = Event;
  ClientKind kind;
  ClientId client;
  std::string bytes;
};
struct ClientClosed {
  using Family = Event;
  ClientKind kind;
  ClientId client;
  bool listens = false;  // a client of the job that may only have said all: its connection is still there
};
/// Root: answer to a Show with output that wants a receipt.
struct Shown {
  using Family = Event;
  std::uint32_t process;
};
/// Root: of what was shown so much more (output_cost) has been written, or will never be.
struct OutputWritten {
  using Family = Event;
  std::uint64_t cost;
};
/// Answer to SpoolWrite, in their order. `failure`: why the bytes are not in the file; empty: they are.
struct Spooled {
  using Family = Event;
  std::string failure = {};
};
/// Answer to SpoolRead; `failure`: why the bytes are lost.
struct Unspooled {
  using Family = Event;
  std::string bytes;
  std::string failure = {};
};
/// Root: answer to ReadHosts: the hosts with processes, numbered among themselves, whose `profile` is a place
/// in `profiles`; or why there are none.
struct HostsRead {
  using Family = Event;
  std::vector<Host> hosts;
  std::vector<Profile> profiles;
  std::optional<Error> error = {};
};
/// Root: a signal for us or for the job. The one to go on comes after StopSelf in any case.
struct UserSignal {
  using Family = Event;
  int signal;
};
/// Answer to KillLeftovers. `all` false: some live on.
struct LeftoversKilled {
  using Family = Event;
  std::uint32_t killed;
  bool all = true;
};
/// A login under way needs `data` to be signed by one of its profile's forwarded keys. Answer Signed.
struct SignatureWanted {
  using Family = Event;
  LinkId link;
  std::string data;
};
/// Root: answer to Sign; an empty signature: the key or its agent refused.
struct SignatureMade {
  using Family = Event;
  std::uint32_t launcher, login;
  std::string signature;
};
/// Answer to Relay: no launcher of that job and host waits here.
struct NobodyWaits {
  using Family = Event;
};
/// What was found out about a link that is silent.
struct Evidence {
  Duration heard{0};  // the last byte came so long ago
  std::optional<Duration> acknowledged =
      {};                     // so long ago the other machine last acknowledged some; not known
  bool port_answers = false;  // a connection to its ssh port was taken or refused
  bool asked = true;          // one was made; else that was not necessary, or not possible
};
/// Answer to Probe.
struct Probed {
  using Family = Event;
  LinkId link;
  Evidence evidence;
};
/// Answer to DescribeTopology: the file, as hwloc reads it, and what is in it; empty and null: there is none.
struct TopologyDescribed {
  using Family = Event;
  std::string file;
  wire::Blob xml;
};
struct RunPlan;  // run_plan.hpp
/// Root of a session that awaits a run (RunOver): this is it.
struct NextRun {
  using Family = Event;
  std::shared_ptr<const RunPlan> plan;
};
/// Root of a session: it is to end, by this signal, and so is the run that there is. A second time: at once.
struct SessionEnds {
  using Family = Event;
  int signal;
};
/// Nothing happened but time: next_deadline() has come.
struct Tick {
  using Family = Event;
};

using CoreEvents =
    TypeList<Begin, LinkUp, LoginFailed, LinkMessage, LinkDown, SendRefused, Prepared, Spawned,
             ProcessAdopted, SpawnFailed, ProcessOutput, OutputDrained, ProcessExited, ClientOpened,
             ClientBytes, ClientClosed, Shown, OutputWritten, Spooled, Unspooled, HostsRead, UserSignal,
             LeftoversKilled, SignatureWanted, SignatureMade, NobodyWaits, Probed, ClientSeen, MpiLoaded,
             TopologyDescribed, NextRun, SessionEnds, Tick>;
/// Calls f with the event as the type of CoreEvents that it has.
template <class F>
auto dispatch(F&& f, Event& event) {
  return dispatch(CoreEvents{}, f, event);
}
template <class F>
auto dispatch(F&& f, const Event& event) {
  return dispatch(CoreEvents{}, f, event);
}

// ---- actions

/// Start a launcher on `host`; answer LinkUp or LoginFailed. `via` may differ from the profile's (fallback to
/// the ssh command). No step of it may take longer than `limit`.
struct Login {
  using Family = Action;
  LinkId link;
  Host host;
  Profile profile;
  Via via;
  Duration limit;
  bool replaces = false;  // the launcher that is installed there cannot be used
};
/// Give up a login; no answer comes.
struct CancelLogin {
  using Family = Action;
  LinkId link;
};
/// The signature that a login wanted; empty: refused.
struct Signed {
  using Family = Action;
  LinkId link;
  std::string signature;
};
struct Send {
  using Family = Action;
  LinkId link;
  wire::Message message;
};
/// Send what is queued (bounded time), then end the link. No LinkDown follows.
struct CloseLink {
  using Family = Action;
  LinkId link;
};
/// Hand on all that comes between the parent and the launcher that waits at this socket to be adopted, until
/// one of them ends; only that is then told, as the end of the parent's link. Or answer NobodyWaits.
struct Relay {
  using Family = Action;
  std::uint32_t host;
  std::string socket;
};
/// kAdopterLink becomes kParentLink. The one that was it until now is closed, if there still is one.
struct ReplaceParent {
  using Family = Action;
};
/// A link is silent: find out within this time whether the machine at its other end lives; at once, without a
/// connection to it, if it acknowledged something less than `fresh` ago, or some of what came has not been
/// read. `here`: it is this machine. Answer Probed.
struct Probe {
  using Family = Action;
  LinkId link;
  Duration within, fresh;
  bool here = false;
};
/// Make this host ready: working directory, ~/.charmrunrc, setup command, client sockets. Answer Prepared;
/// of a job with staged files only after staging::FilesStaged.
struct Prepare {
  using Family = Action;
  std::shared_ptr<const wire::JobSpec> job;
  Host self;
};
/// Start one process of the job, with these arguments behind its own, bound to these PUs (none: not bound).
/// Answer Spawned or SpawnFailed.
struct Spawn {
  using Family = Action;
  std::uint32_t process;
  std::vector<std::string> more_arguments = {};
  CpuSet cpus = {};
  std::uint32_t restarts = 0;                 // so many have been started under its number before
  std::vector<std::string> environment = {};  // "NAME=value", beyond that of every process of the job
  bool held = false;  // it stops before its first instruction; SIGCONT is kept from it if somebody traces it
};
/// Start the PMIx helper of this host, which speaks with ClientKind::pmix over a connection of its own; if it
/// cannot be started, the connection says why.
struct StartPmix {
  using Family = Action;
};
/// Write down what this host consists of, for processes that would each have a look of their own; answer
/// TopologyDescribed.
struct DescribeTopology {
  using Family = Action;
};
/// Find out who `client` is, a connected process that process `parent` forked, and watch it as if we had
/// started it. Answer ProcessAdopted.
struct AdoptProcess {
  using Family = Action;
  std::uint32_t process, parent;
  ClientKind kind;
  ClientId client;
};
/// To the process's group; to an adopted one itself.
struct Signal {
  using Family = Action;
  std::uint32_t process;
  int signal;
};
/// Kill every process that our processes left behind (children of this subreaper, holders of the job's mark).
/// `job` and `host` name the mark. Answer LeftoversKilled once none is found, or after some seconds.
struct KillLeftovers {
  using Family = Action;
  std::string job;
  std::uint32_t host;
};
/// As ToClient.
struct ClientSend {
  using Family = Action;
  ClientKind kind;
  ClientId client;
  std::string bytes;
  wire::Blob tail = {};
  SharedContent shared = {};
  std::optional<PassedPort> port = {};
};
struct ClientClose {
  using Family = Action;
  ClientKind kind;
  ClientId client;
};
/// Read the process's pipes until they are empty, before the next action. Answer OutputDrained. `client` is
/// its connection.
struct DrainOutput {
  using Family = Action;
  std::uint32_t process;
  ClientId client = 0;
};
/// Do not read (read again) what the process writes to its pipes or its terminal.
struct PauseOutput {
  using Family = Action;
  std::uint32_t process;
  bool paused;
};
/// Do not read (read again) what the client says.
struct PauseClient {
  using Family = Action;
  ClientId client;
  bool paused;
};
/// Keep these bytes in this host's spool file, at that place. Answer Spooled.
struct SpoolWrite {
  using Family = Action;
  std::uint64_t offset;
  wire::Blob bytes;
};
/// Read them back; `last`: nothing else is kept there, the file can be emptied. Answer Unspooled.
struct SpoolRead {
  using Family = Action;
  std::uint64_t offset;
  std::size_t size;
  bool last;
};
/// Write to the stdin pipe or the terminal of a process.
struct WriteInput {
  using Family = Action;
  std::uint32_t process;
  std::string bytes;
  bool end;
};
using CoreActions =
    TypeList<Login, CancelLogin, Signed, Send, CloseLink, Relay, ReplaceParent, Probe, Prepare, Spawn,
             StartPmix, DescribeTopology, AdoptProcess, Signal, KillLeftovers, ClientSend, ClientClose,
             DrainOutput, PauseOutput, PauseClient, LookAtClient, LookForMpi, SpoolWrite, SpoolRead,
             WriteInput, StopSelf, ReadHosts, Show, Say, Sign, StoreHostKey, Record, FenceOver,
             AllInitialised, Examined, Progress, ProcessesKnown, RunOver, KeepTree, Finish>;
/// Calls f with the action as the type of CoreActions that it has.
template <class F>
auto dispatch(F&& f, Action& action) {
  return dispatch(CoreActions{}, f, action);
}
template <class F>
auto dispatch(F&& f, const Action& action) {
  return dispatch(CoreActions{}, f, action);
}

}  // namespace charmtree::proto
