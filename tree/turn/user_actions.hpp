// SPDX-License-Identifier: Apache-2.0
// The actions of a root that concern its user, and how a launcher ends. A part of the vocabulary of
// tree/turn/events.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tree/base/error.hpp"
#include "tree/base/time.hpp"
#include "tree/turn/ending.hpp"
#include "tree/turn/event.hpp"
#include "tree/turn/job_status.hpp"
#include "tree/turn/losses.hpp"
#include "tree/wire/host.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree::proto {

/// Root: send what is queued (bounded time), then stop this process, as Ctrl-Z does, unless it is to go on
/// again by then.
struct StopSelf {
  using Family = Action;
};
/// Root: look again which hosts there are, and place so many PEs on them. Answer HostsRead.
struct ReadHosts {
  using Family = Action;
  std::uint32_t pes;
};
/// Root: output of a process. If it wants a receipt: answer Shown when this and all before it has been
/// written, or nobody reads it any more.
struct Show {
  using Family = Action;
  wire::Output output;
  std::string host;             // of that process
  std::uint32_t processes = 2;  // of the job
  bool raw = false;             // its bytes are to be written as they are
};
/// Root: a line of ours for the user. `verbose`: only with ++verbose.
enum class Tone : std::uint8_t { verbose, info, error };
struct Say {
  using Family = Action;
  Tone tone;
  std::string text;
};
/// Root: sign this by the user's key `key`, for a login that a launcher makes. Answer SignatureMade.
struct Sign {
  using Family = Action;
  std::uint32_t launcher, login;
  std::string key;  // public, as a blob
  std::string data;
};
/// Root: remember this host key (known_hosts).
struct StoreHostKey {
  using Family = Action;
  std::uint32_t host;
  HostKey key;
};
/// Root: one launcher's start-up times, in the root's clock; of the launchers that the root itself started
/// always, as far as their login, when every host is up. With `error`: that it was given up at `failed`; of
/// `stamps` only the host counts then.
struct Record {
  using Family = Action;
  wire::Stamps stamps;
  std::optional<Error> error = {};
  Instant failed = kNever;
};
/// Root: all were in this fence, and it is over. Only of a job whose start-up times are wanted.
struct FenceOver {
  using Family = Action;
  wire::Fence fence;
  std::uint64_t requests;  // that its processes have made since their last one, as far as they are counted
  std::size_t bytes;       // given by all of them, for each of their hosts
  Instant begun;           // when the root first heard of it
  Instant over;
};
/// Root: all processes speak MPI now. Only of a job whose start-up times are wanted.
struct AllInitialised {
  using Family = Action;
  Instant first;  // when the first was heard of
  Instant last;
};
/// Root of a checkup: what was found on one host, in the root's clock.
struct Examined {
  using Family = Action;
  wire::Checkup checkup;
};
/// Root: what has changed in the job's status, whose `late` hosts are left out, and what has become of hosts
/// and processes since. Only where somebody looks at it (RootPlan::tells_progress).
struct Progress {
  using Family = Action;
  JobStatus status;
  std::vector<std::uint32_t> hosts_up;         // have started their processes
  std::vector<wire::HostFailure> hosts_lost;   // were up
  std::vector<wire::StartedBy> started_by;     // of a job that is watched
  std::vector<wire::ProcessSet::Range> ended;  // as they should, of a job that is watched
  struct Loss {
    std::uint32_t process;
    std::string how;
    bool asked = false;  // charmrun has ended it, because of another cause
  };
  std::vector<Loss> lost;  // processes that ended otherwise
  struct Failure {
    std::uint32_t process;
    std::uint32_t host;  // where it was
    WayToEnd way;
    std::string how;
  };
  std::vector<Failure> failures;  // those of them that are not started again, and were not ended by charmrun
  std::vector<proto::Loss>
      losses;  // without which the job goes on; those of single processes are in `lost`, too
  struct ProcessRestart {
    std::uint32_t process;
    std::uint32_t host;      // where that is
    std::uint32_t restarts;  // of this process, with this one
    std::string how;         // it was lost
  };
  std::vector<ProcessRestart> restarts;  // processes that are started again
  std::vector<std::uint32_t> back;       // that were lost, or regrouped, and have registered
  std::vector<wire::Silence> silences;   // of processes, and their ends
  std::optional<Ending> restarted;       // this ended a run of the program, which is started again
};
/// Root: what hosts call processes that have been started, the newest last.
struct ProcessesKnown {
  using Family = Action;
  std::shared_ptr<const wire::JobSpec> job;
  std::vector<wire::ProcessIds> ids;
  bool all = false;  // with these all that are started with the job are known, for the first time
};
/// This launcher is done. Root: with the status to exit with, or the signal to die of (0: none), and why.
struct Finish {
  using Family = Action;
  int status;
  int signal;
  Ending why = {};
};
/// Root of a session: a run is over, or, the first time, there is a tree; the next run is awaited. What the
/// run had to show has been shown before.
struct RunOver {
  using Family = Action;
  Finish result;
};

/// Whose launcher has started which, and what else a root has to know of the tree of one that was lost.
struct TreeShape {
  std::vector<wire::StartedBy> started_by;
  wire::ProcessSet lost;  // processes of launchers that were lost
};
/// Root of a job that is kept alive: this is what another one needs to take over, from now on.
struct KeepTree {
  using Family = Action;
  TreeShape shape;
  std::vector<Host> hosts;
  std::uint32_t pes_per_process = 1;
};

}  // namespace charmtree::proto
