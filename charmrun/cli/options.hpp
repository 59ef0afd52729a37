// SPDX-License-Identifier: Apache-2.0
// The command line as plain data. Parsing follows Charm++'s charmrun: options are recognised anywhere in
// argv, also behind the program, and removed; a lone `++` is removed and ends the scanning; `+pN`, `+p N`
// work for one-letter options only, so that
// `+vp4`, `+ppn 2`, `+pemap 0-3`, `+netpoll`, `+np` stay with the program; the first word left over is the
// program. Pure: no file, environment or terminal is touched; the environment's values are handed in.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "charmrun/cli/connecting_starter.hpp"
#include "charmrun/cli/label.hpp"
#include "tree/base/result.hpp"
#include "tree/base/time.hpp"
#include "tree/wire/messages.hpp"
#include "tree/wire/node_table.hpp"

namespace charmtree {

using wire::kMaxProcesses;
inline constexpr std::uint32_t kMaxPes = 0x7FFF'FFFF;  // Charm++ counts PEs in an int

using Command = std::vector<std::string>;  // the words of a command

struct LoginRate {
  std::uint32_t per_second = 0;  // 0: no limit
};

/// ++env: "NAME=value", in the order in which they were given.
struct Variables {
  std::vector<std::string> all;
};

struct ByteSize {
  std::uint64_t bytes = 0;
};

/// What the environment says; empty: not set.
struct OptionEnvironment {
  std::string nodelist;      // $NODELIST
  std::string remote_shell;  // $CONV_RSH
  std::string home;          // $HOME
  std::string address;       // $CHARMRUN_IP
  std::string daemon;        // $CONV_DAEMON
  std::string server_host;   // $CHARMTREE_SERVER_HOST
  /// We have been called as mpiexec: there are no usual places for nodelists, and `nodelist` is
  /// $HYDRA_HOST_FILE.
  bool is_mpiexec = false;
};

/// Where a nodelist may be. Places are tried in order; the first that exists is the nodelist. A required one
/// must exist.
struct NodelistPlace {
  std::string path;
  std::string source;  // for messages: "++nodelist", "$NODELIST"; empty for the usual places
  bool required = false;
  friend bool operator==(const NodelistPlace&, const NodelistPlace&) = default;
};

/// What charmrun is to do. All but `run` are chosen by the first word of the command line.
enum class Mode : std::uint8_t {
  run,
  plan,         // ++plan: say how a job would start
  doctor,       // ++doctor: examine the hosts
  list,         // ++list: running jobs
  status,       // ++status: one of them, Options::program
  stack_trees,  // ++stack-trees: what the processes of one of them do, Options::program
  view,         // ++view: what one of them prints, Options::program
  tmux,         // ++tmux: the same, for each process in a pane
  gdb,          // ++gdb: a debugger for its processes, Options::program with ":PROCESSES"
  dap,          // ++dap: a debug adapter for a process of one, Options::program with ":PROCESS"
  exec,         // ++exec: Options::arguments beside processes of one, Options::program with ":PROCESSES"
  ccs,          // ++ccs: a request of one, Options::arguments
  session,      // ++session: a tree for runs to come
  in,           // ++in: a run in a session, Options::job
  end,          // ++end: of a session, Options::program
  attach,       // ++attach: take over a job that has lost its root, Options::program
  detach,       // ++detach: leave such a job to itself, Options::program
  kill,         // ++kill: end a job, Options::program
  /// ++replace-charm4py, ++restore-charm4py: be the charmrun of the charm4py in the Python environment
  /// Options::program, or be it no more.
  replace_charm4py,
  restore_charm4py,
};

/// ++bind: what each process is bound to. `automatic`: nothing was said.
enum class BindUnit : std::uint8_t { automatic, core, socket, numa, none };

/// ++hang-action: what is done about a process that does not serve its socket.
enum class HangAction : std::uint8_t { report, kill };

/// ++pmi: by what an MPI program finds its other processes.
enum class Pmi : std::uint8_t { automatic, pmi1, pmi2, pmix, port, none };

/// Of ++detect-within.
inline constexpr Duration kLeastDetectWithin = 100ms, kMostDetectWithin = 8s;
/// ++timeout of a ++doctor, unless it is given.
inline constexpr Duration kDoctorTimeout = 5s;

/// ++rm: whose allocation says which hosts there are. `automatic`: the one that we are in, if any.
/// `slurm_job`: all of Slurm's job, where we are in a step of it.
enum class ResourceManager : std::uint8_t {
  automatic,
  none,
  slurm,
  slurm_job,
  pbs,
  lsf,
  sge,
  oar,
  kubernetes,
  flux
};

/// ++stdin: who gets our stdin.
struct InputTarget {
  enum class Who : std::uint8_t { process, all, none };
  Who who = Who::process;
  std::uint32_t process = 0;
  friend bool operator==(const InputTarget&, const InputTarget&) = default;
};

/// `./a : +p6 ./b`: a program behind the first.
struct FurtherCommand {
  std::uint32_t processes = 1;
  std::string program;
  Command arguments;
  Variables variables;
};

/// Counts as the user wrote them, for messages: "+p4", "++np 2"; empty: not given.
struct TypedCounts {
  std::string pes, processes, pes_per_process;
};

/// By subject. A number that is 0 was not given, unless said otherwise.
struct Options {
  /// How many processes; see placement.hpp.
  struct Counts {
    std::uint32_t pes = 0;              // +p: PEs in all
    std::uint32_t processes = 0;        // ++n, ++np
    std::uint32_t pes_per_process = 0;  // ++ppn
    std::uint32_t host_limit = 0;       // ++numHosts: use the first so many hosts
    TypedCounts typed;
    std::optional<bool> smp;  // ++smp, ++no-smp: overrules what the program's text says
  };

  /// How many of them where, by the hosts' cores, and what each is bound to.
  struct Placement {
    std::uint32_t processes_per_host = 0;
    std::uint32_t processes_per_socket = 0;
    std::uint32_t processes_per_core = 0;
    std::uint32_t processes_per_pu = 0;
    bool worker_per_host = false;
    bool worker_per_socket = false;
    bool worker_per_core = false;
    bool worker_per_pu = false;
    bool auto_provision = false;
    BindUnit binding = BindUnit::automatic;
    bool report_bindings = false;

    /// ++n processes, so many on each host; else a host's own number.
    bool fills_hosts(const Counts& counts) const { return processes_per_host > 0 && counts.processes > 0; }
    bool is_by_processes() const {
      return processes_per_host > 0 || processes_per_socket > 0 || processes_per_core > 0 ||
             processes_per_pu > 0;
    }
    bool is_by_workers() const {
      return worker_per_host || worker_per_socket || worker_per_core || worker_per_pu;
    }
  };

  /// Debuggers.
  struct Debug {
    bool wanted = false;    // ++debug: of each process, from its first instruction
    bool no_pause = false;  // ++debug-no-pause: the same, and they run
    bool in_xterm = false;  // what each process prints has a window
    std::string commands;   // that a prompt is given first; \n separates them
    std::string debugger;   // on the hosts; empty: gdb
    std::string xterm = "xterm";
    std::string display;  // for it; empty: $DISPLAY

    bool opens_prompts() const { return wanted || no_pause; }
    bool opens_windows() const { return opens_prompts() || in_xterm; }
  };

  /// Which hosts.
  struct Hosts {
    std::string nodelist;  // "-": stdin
    std::string nodegroup = "main";
    std::string chosen;    // ++host; see hosts/host_choice.hpp
    std::string excluded;  // ++exclude
    ResourceManager manager = ResourceManager::automatic;
    bool local = false;
    std::uint32_t virtual_hosts = 0;  // ++hosts: play so many hosts on this machine
    std::string listed, listed_by;    // a nodelist that has been read before, and from where; empty: none

    /// ++local, ++hosts: all runs on this machine, and no nodelist is read.
    bool are_here() const { return local || virtual_hosts > 0; }
  };

  /// How launchers are started.
  struct Launch {
    /// Empty: ssh by libssh2, or what `transport` says. ++remote-shell, else $CONV_RSH (not for mpiexec).
    Command remote_shell;
    StartedBy transport = StartedBy::automatic;
    std::uint32_t branching = 0;
    std::uint32_t levels = 0;
    std::uint32_t batch = 0;
    std::uint32_t max_logins = 0;
    LoginRate login_rate;
    bool accept_new_host_keys = false;
    bool forward_agent = false;
    std::string launcher;                // path of charmrun on the hosts; empty: the path of this one
    bool no_stage = false;               // hosts without it are an error; with `launcher` they always are
    bool mpiexec = false;                // as a transport, where that is no other such starter
    bool mpiexec_without_count = false;  // the same, without -n
    bool scalable_start = true;
    bool start_early = false;  // each host starts its processes when it is ready itself
  };

  /// The address under which this host is known to the others.
  struct Address {
    std::string own;            // IPv4, unchecked: ++useip, else $CHARMRUN_IP; empty: found out
    bool by_host_name = false;  // ++usehostname: whatever our own name resolves to; wins over `own`
    std::string interface;      // of every host; unchecked; empty: found out
    std::string subnet;         // ADDRESS/BITS that every host is in; unchecked; empty: found out
  };

  /// What becomes of hosts that fail.
  struct HostFailure {
    wire::OnHostFailure policy = wire::OnHostFailure::abort;
    std::uint32_t spares = 0;
    Duration patience{0};
    Duration wait{0};
  };

  /// How the program's processes are run.
  struct Process {
    std::string run_script;
    std::string directory;  // where they run; empty: here
    bool make_directory = false;
    bool stage_program = false;  // hosts get it from here
    std::string staged;          // and these files, with commas
    bool va_randomization = false;
    bool interactive = false;
    bool kill_on_exit = false;
    Pmi pmi = Pmi::automatic;
    std::uint32_t pmi_value = wire::MpiService::kMostValue;  // bytes of one, at most
    bool singletons = false;     // several processes of an MPI program, each a job of its own
    bool allow_spawn = false;    // whatever the program shows, its processes may start others
    std::uint32_t universe = 0;  // MPI_UNIVERSE_SIZE; 0: the slots of the hosts
    bool forward_environment = true;
    Variables variables;
    wire::EnvLike env_like = wire::EnvLike::none;
    bool expands = false;                        // %r and %h in arguments
    std::optional<InputTarget> input;            // ++stdin; without it, process 0
    std::optional<std::uint32_t> ipc_pool_size;  // builds with shared memory between processes
    std::optional<std::uint32_t> ipc_cutoff;
  };

  /// What becomes of processes that are lost.
  struct Recovery {
    wire::OnFailure on_failure = wire::OnFailure::abort;
    std::optional<bool> syncft;  // ++syncft, ++no-syncft: overrules what the program's text says
    std::optional<Command> restart_arguments;
    std::uint32_t max_restarts = 10;
    bool shrink_ok = false;
    bool fast_failover = false;
  };

  /// Client-server mode.
  struct Ccs {
    bool wanted = false;  // ++server; set by the others, too
    std::uint32_t port = 0;
    std::string host;  // IPv4, unchecked: ++server-host, else $CHARMTREE_SERVER_HOST; empty: found out
    std::string keys;  // a file: ++server-auth
    bool weak_keys = false;
    bool any_user = false;
    std::string denied;  // handlers, with commas
    std::optional<Duration> timeout;
  };

  struct Time {
    Duration to_start = 60s;        // ++timeout
    std::optional<Duration> limit;  // ++timelimit
    Duration grace = 2s;
    std::optional<Duration> heartbeat = 250ms;
    Duration detect_within = 1s;
    Duration orphan_after = 8s;
    std::optional<Duration> hang_after = 60s;
    std::optional<Duration> keep_alive;
    HangAction hang_action = HangAction::report;
    bool int_ends = true;  // ++no-int-ends: Ctrl-C is the program's
  };

  /// What is shown of the job.
  struct View {
    bool verbose = false;
    bool quiet = false;  // never together with verbose, which wins
    std::string json;    // ++json
    bool dashboard = false;
    std::string report;
    std::string timeline;
    std::string draw;         // ++draw
    bool all_frames = false;  // ++all-frames
  };

  /// How the program's output is shown, or where it goes.
  struct Output {
    bool raw = false;
    bool label = false;
    std::string label_format;
    bool timestamp = false;
    std::string file;          // ++output: one for each process, with %r and the like; empty: none
    std::optional<bool> fold;  // not said: on a terminal, for many processes
    Duration fold_window = 500ms;
    std::optional<bool> line_buffered;  // not said: for Open MPI
    ByteSize spool{1U << 30};
  };

  Mode mode = Mode::run;
  std::vector<std::string_view> given;  // names of the options that were, as the table has them
  Counts counts;
  Placement placement;
  Hosts hosts;
  Launch launch;
  Address address;
  HostFailure host_failure;
  Process process;
  Recovery recovery;
  Ccs ccs;
  Debug debug;
  Time time;
  View view;
  Output output;
  bool help = false;
  bool version = false;
  bool is_mpiexec = false;  // we have been called so

  std::string job;          // ++in: of which session; empty: of the only one
  bool background = false;  // ++session: it returns when that is ready

  std::string program;  // empty only with help, version or another mode than run
  std::vector<std::string> arguments;
  std::vector<FurtherCommand> further;  // whose processes `counts` has, too

  std::vector<NodelistPlace> nodelist_places;

  /// They are read from there, to its end: nothing is left for the program.
  bool lists_hosts_by_stdin() const {
    return !nodelist_places.empty() && nodelist_places.front().path == "-";
  }
  /// Whose processes become the launchers, which connect back; null: nobody's. ++local wins, as with Charm++.
  const ConnectingStarter* connecting_starter() const {
    return hosts.local ? nullptr : find_connecting_starter(launch.transport);
  }
};

/// Reads argv, its first word (our own name) included. Errors are Errc::bad_input, Phase::options and name
/// the word.
/// `further`: programs behind those in argv.
Result<Options> parse_options(std::span<const std::string> argv, const OptionEnvironment& environment,
                              std::vector<FurtherCommand> further = {});

/// Also what the options about output say to each other.
Result<void> check_output(const Options& options);

/// What stands before each line of output: `folding`, if equal lines become one.
Result<Label> label_of(const Options& options, bool folding = false);
/// ++output: the file of a process; empty if there is none.
Result<Label> file_name_of(const Options& options);
/// Nothing that was given contradicts the folding of equal lines.
bool may_fold(const Options& options);
/// A job of more processes has its lines folded on a terminal.
inline constexpr std::uint32_t kFewProcesses = 8;

/// True for exactly `charmrun ++launcher`: the word by which a launcher is started on a host. With a path
/// behind it,
/// `++launcher` is an ordinary option.
bool is_launcher_mode(std::span<const std::string> argv);

/// The word by which the script of ++mpiexec starts each process, and true for exactly `charmrun` and it.
inline constexpr std::string_view kRankWord = "++mpiexec-rank";
bool is_rank_mode(std::span<const std::string> argv);

}  // namespace charmtree
