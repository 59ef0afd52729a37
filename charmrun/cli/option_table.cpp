// SPDX-License-Identifier: Apache-2.0
#include "charmrun/cli/option_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>
#include <type_traits>

#include "tree/base/join.hpp"
#include "tree/job/environment.hpp"
#include "tree/wire/words.hpp"

namespace charmtree {
namespace {

constexpr std::uint32_t kMaxHostLimit = 1'000'000;
constexpr std::uint32_t kMaxVirtualHosts = 10'000;
constexpr std::uint32_t kMaxBranching = 1'000'000;
constexpr std::uint32_t kMaxLevels = 64;
constexpr std::uint32_t kMaxBatch = 100'000;
constexpr std::uint32_t kMaxLoginRate = 1'000'000;
constexpr std::uint32_t kMaxPort = 65'535;
constexpr std::uint64_t kMaxSpool = std::uint64_t{1} << 40;
constexpr double kMaxSeconds = 1e9;  // 31 years; fits in nanoseconds

using Topic = OptionTopic;
using O = Options;

/// The part of Options that is of this type.
template <class Part, class Whole>
constexpr auto& part(Whole& o) {
  using Reference = std::conditional_t<std::is_const_v<Whole>, const Part&, Part&>;
  return std::get<Reference>(std::tie(o, o.counts, o.placement, o.hosts, o.launch, o.address, o.host_failure,
                                      o.process, o.recovery, o.ccs, o.debug, o.time, o.view, o.output));
}

template <auto kMember, class Part, class T>
constexpr OptionMember<T> member(T Part::*) {
  return {[](O& options) -> T& { return part<Part>(options).*kMember; },
          [](const O& options) -> const T& { return part<Part>(options).*kMember; }};
}

/// at<&O::Counts::pes>: that member, in whichever Options.
template <auto kMember>
constexpr auto at = member<kMember>(kMember);

constexpr std::array kTable = {
    OptionRow{"p", Topic::counts, at<&O::Counts::pes>, "N", "",
              "PEs (worker threads) in all; without ++n and ++ppn, as many processes", 1, kMaxPes},
    OptionRow{"n", Topic::counts, at<&O::Counts::processes>, "N", "1", "processes in all", 1, kMaxProcesses},
    OptionRow{"np", Topic::counts, at<&O::Counts::processes>, "N", "1", "the same as ++n", 1, kMaxProcesses},
    OptionRow{"ppn", Topic::counts, at<&O::Counts::pes_per_process>, "N", "1",
              "PEs in each process (Charm++ SMP programs)", 1, kMaxPes},
    OptionRow{"numHosts", Topic::counts, at<&O::Counts::host_limit>, "N", "all",
              "use only the first N hosts of the nodelist", 0, kMaxHostLimit},
    OptionRow{"smp", Topic::counts, at<&O::Counts::smp>, "", "as the program's text says",
              "the program is an SMP build: its processes may have several PEs; ++no-smp: it is none"},
    OptionRow{"processPerHost", Topic::counts, at<&O::Placement::processes_per_host>, "N", "",
              "N processes on each host", 0, kMaxProcesses},
    OptionRow{"processPerSocket", Topic::counts, at<&O::Placement::processes_per_socket>, "N", "",
              "N processes for each socket of every host", 0, kMaxProcesses},
    OptionRow{"processPerCore", Topic::counts, at<&O::Placement::processes_per_core>, "N", "",
              "N processes for each core", 0, kMaxProcesses},
    OptionRow{"processPerPU", Topic::counts, at<&O::Placement::processes_per_pu>, "N", "",
              "N processes for each hardware thread", 0, kMaxProcesses},
    OptionRow{"oneWthPerHost", Topic::counts, at<&O::Placement::worker_per_host>, "", "off",
              "one PE for each host (SMP builds)"},
    OptionRow{"oneWthPerSocket", Topic::counts, at<&O::Placement::worker_per_socket>, "", "off",
              "one PE for each socket (SMP builds)"},
    OptionRow{"oneWthPerCore", Topic::counts, at<&O::Placement::worker_per_core>, "", "off",
              "one PE for each core (SMP builds)"},
    OptionRow{"oneWthPerPU", Topic::counts, at<&O::Placement::worker_per_pu>, "", "off",
              "one PE for each hardware thread (SMP builds), but for one in each process, for its "
              "communication, where there is no other"},
    OptionRow{"auto-provision", Topic::counts, at<&O::Placement::auto_provision>, "", "off",
              "use all of every host: a process for each core; of SMP builds one for each socket, with a PE "
              "for each hardware thread"},
    OptionRow{"autoProvision", Topic::counts, at<&O::Placement::auto_provision>, "", "off",
              "the same as ++auto-provision"},
    OptionRow{
        "bind", Topic::counts, at<&O::Placement::binding>, "UNIT",
        "Charm++ programs bind themselves by ++processPer*",
        "bind each process to a core (with ++ppn N to N of them), socket or numa domain, by its rank on "
        "its host; none: not at all"},
    OptionRow{"report-bindings", Topic::counts, at<&O::Placement::report_bindings>, "", "off",
              "say what each process is bound to"},

    OptionRow{"nodelist", Topic::hosts, at<&O::Hosts::nodelist>, "FILE",
              "$NODELIST, else ./nodelist, else ~/.nodelist",
              "the file that names the hosts, Charm++'s or another launcher's; -: stdin; without any, an "
              "allocation's hosts, else this machine (docs/manual/nodelist.md)"},
    OptionRow{
        "host", Topic::hosts, at<&O::Hosts::chosen>, "HOSTS", "all",
        "these hosts, with what the nodelist says of them if it has them: a,b:2,n[01-16] or '@group!n7'"},
    OptionRow{"exclude", Topic::hosts, at<&O::Hosts::excluded>, "HOSTS", "none",
              "leave these hosts out, if they are there"},
    OptionRow{"nodegroup", Topic::hosts, at<&O::Hosts::nodegroup>, "NAME", "main",
              "the group of hosts in the nodelist"},
    OptionRow{"local", Topic::hosts, at<&O::Hosts::local>, "", "off",
              "run on this machine alone, without nodelist and ssh"},
    OptionRow{"hosts", Topic::hosts, at<&O::Hosts::virtual_hosts>, "N", "",
              "play N hosts on this machine: a tree of N launchers, without nodelist and ssh", 1,
              kMaxVirtualHosts},

    OptionRow{
        "rm",
        Topic::hosts, at<&O::Hosts::manager>, "MANAGER", "auto",
        "take the hosts of the allocation of slurm, pbs, lsf, sge, oar, kubernetes or flux in which charmrun "
        "runs; slurm-job: of the job also where that is a step; none: do not look for one"},
    OptionRow{"useip", Topic::hosts, at<&O::Address::own>, "ADDRESS",
              "$CHARMRUN_IP, else the one towards the others",
              "the IPv4 address under which processes on this machine are reached by those on other hosts"},
    OptionRow{"usehostname", Topic::hosts, at<&O::Address::by_host_name>, "", "off",
              "take the address to which this machine's name resolves; wins over ++useip"},
    OptionRow{"iface", Topic::hosts, at<&O::Address::interface>, "NAME", "found out",
              "processes reach those of other hosts at the address of this interface, on every host"},
    OptionRow{
        "subnet", Topic::hosts, at<&O::Address::subnet>, "ADDRESS/BITS", "found out",
        "processes reach those of other hosts in this network, as 10.1.0.0/16, whichever interface each "
        "host has there"},

    OptionRow{
        "remote-shell", Topic::launch, at<&O::Launch::remote_shell>, "COMMAND",
        "$CONV_RSH, else as ++transport says",
        "start launchers by this command, such as \"ssh -p 2222\"; the host and a command for its shell are "
        "put behind it, or the host in the place of a word %h: \"docker exec -i %h sh -c\""},
    OptionRow{
        "transport", Topic::launch, at<&O::Launch::transport>, "HOW", "auto",
        "what starts launchers: ssh, or srun, blaunch, flux or pbsdsh, with which the resource manager's "
        "limits and accounts hold; auto: srun in an allocation of Slurm, else ssh"},
    OptionRow{
        "branching", Topic::launch, at<&O::Launch::branching>, "K", "",
        "a fixed tree, in which each launcher starts at most K others; without ++branching and ++levels "
        "every launcher that is up takes hosts as it can start them",
        1, kMaxBranching},
    OptionRow{"levels", Topic::launch, at<&O::Launch::levels>, "D", "with ++branching as many as needed",
              "a fixed tree of this depth; 1 is flat", 1, kMaxLevels},
    OptionRow{"batch", Topic::launch, at<&O::Launch::batch>, "N", "as many as go well",
              "N logins at a time in each launcher", 0, kMaxBatch},
    OptionRow{"maxssh", Topic::launch, at<&O::Launch::max_logins>, "N", "",
              "never more than N logins at a time in each launcher", 1, kMaxBatch},
    OptionRow{
        "login-rate", Topic::launch, at<&O::Launch::login_rate>, "N/s", "no limit",
        "all launchers together log in N times a second at most (for sites where logins share a service)", 1,
        kMaxLoginRate},
    OptionRow{
        "on-host-failure", Topic::launch, at<&O::HostFailure::policy>, "POLICY", "abort",
        "abort: a host that cannot be started ends the job; drop: the job runs without it; spare: a spare "
        "host takes its place"},
    OptionRow{"spare-hosts", Topic::launch, at<&O::HostFailure::spares>, "N", "0",
              "the last N hosts of the list are spares, for ++on-host-failure spare", 0, kMaxHostLimit},
    OptionRow{"host-patience", Topic::launch, at<&O::HostFailure::patience>, "SECONDS",
              "4 times what 9 of 10 logins took, at least 2",
              "how long a host may be silent before drop and spare do without it"},
    OptionRow{"wait-hosts", Topic::launch, at<&O::HostFailure::wait>, "SECONDS", "",
              "keep trying hosts that do not resolve or answer yet"},
    OptionRow{
        "accept-new-host-keys", Topic::launch, at<&O::Launch::accept_new_host_keys>, "", "off",
        "trust a host whose key is not in known_hosts and add the key there; a changed key is still refused"},
    OptionRow{
        "forward-agent", Topic::launch, at<&O::Launch::forward_agent>, "", "off",
        "let hosts without keys log in to the hosts below them: your ssh agent and keys sign that here, and "
        "nothing else (docs/manual/ssh.md)"},
    OptionRow{"background", Topic::launch, at<&O::background>, "", "off",
              "++session: return when it is ready, after its number was printed, and leave it to itself"},
    OptionRow{"launcher", Topic::launch, at<&O::Launch::launcher>, "PATH", "the path of this charmrun",
              "charmrun's path on the hosts"},
    OptionRow{"no-stage", Topic::launch, at<&O::Launch::no_stage>, "", "off",
              "do not send charmrun to hosts on which it is not found at the path that it has here, or is "
              "another version (into a cache of yours there, docs/manual/starting.md)"},
    OptionRow{"scalable-start", Topic::launch, at<&O::Launch::scalable_start>, "", "on",
              "without address-space randomisation processes are alike anyway; with it, the processes of a "
              "host are copies of one"},
    OptionRow{"start-early", Topic::launch, at<&O::Launch::start_early>, "", "off",
              "each host starts its processes as soon as it is ready itself, and not when all have answered"},
    OptionRow{"mpiexec", Topic::launch, at<&O::Launch::mpiexec>, "", "off",
              "start launchers by `mpiexec -n N`, on whatever hosts it gives; ++remote-shell names another "
              "command (docs/manual/mpiexec.md)"},
    OptionRow{"mpiexec-no-n", Topic::launch, at<&O::Launch::mpiexec_without_count>, "", "off",
              "the same without -n N: the command knows how many"},

    OptionRow{"runscript", Topic::program, at<&O::Process::run_script>, "FILE", "",
              "run the program through this script, which gets the program and its arguments"},
    OptionRow{"va-randomization", Topic::program, at<&O::Process::va_randomization>, "", "off",
              "leave address-space randomisation on (Charm++ programs that migrate threads need it off)"},
    OptionRow{
        "interactive", Topic::program, at<&O::Process::interactive>, "", "off",
        "process 0 gets a terminal, and every key typed here; without a program: charm4py's interactive "
        "mode"},
    OptionRow{"wdir", Topic::program, at<&O::Process::directory>, "FOLDER", "here",
              "where the program runs on every host"},
    OptionRow{"make-wdir", Topic::program, at<&O::Process::make_directory>, "", "off",
              "make that folder on hosts that do not have it"},
    OptionRow{"stage-program", Topic::program, at<&O::Process::stage_program>, "", "off",
              "send the program, and its libraries that are no part of the system, to every host, into a "
              "cache of yours there (docs/manual/staging.md)"},
    OptionRow{"stage", Topic::program, at<&O::Process::staged>, "FILE,...", "none",
              "send these files and folders to every host; processes find them in $CHARMTREE_STAGED"},
    OptionRow{"env", Topic::program, at<&O::Process::variables>, "NAME=VALUE", "",
              "set this variable for every process, whatever hosts say; may be repeated"},
    OptionRow{
        "forward-env", Topic::program, at<&O::Process::forward_environment>, "", "on",
        "processes on other hosts get the variables from here, but for those that belong to this host or "
        "login (docs/manual/environment.md); ++no-forward-env: only what a login there has"},
    OptionRow{
        "env-like", Topic::program, at<&O::Process::env_like>, "LAUNCHER", "none",
        "processes also find the variables by which scripts for openmpi, mpich or slurm know their rank, "
        "the size and their rank on the host"},
    OptionRow{
        "expand", Topic::program, at<&O::Process::expands>, "", "off",
        "in the program's arguments %r is the number of the process, %h its host, and %% a percent sign"},
    OptionRow{"kill-on-exit", Topic::program, at<&O::Process::kill_on_exit>, "", "off",
              "as ++on-failure abort: a process that exits with another status than 0 ends the job at once "
              "(plain programs; of Charm++ programs any process that is lost does)"},
    OptionRow{
        "pmi", Topic::program, at<&O::Process::pmi>, "VERSION", "auto",
        "by what an MPI program finds its other processes: 1: PMI-1 (MPICH, Intel MPI and their kin), or "
        "PMI-2 for who asks for it; 2: such libraries are told to ask for PMI-2; port: as 1, for wrappers "
        "that close what they inherit; pmix: PMIx (Open MPI); none: not at all; auto: by what it needs"},
    OptionRow{"pmi-vallen", Topic::program, at<&O::Process::pmi_value>, "BYTES", "16384",
              "longest value that programs may put by PMI-1; libraries of before 2020 take 1024", 256,
              wire::MpiService::kMostValue},
    OptionRow{"singletons", Topic::program, at<&O::Process::singletons>, "", "off",
              "serve no MPI, and start an MPI program more than once all the same: each process is a job of "
              "size 1"},
    OptionRow{"allow-spawn", Topic::program, at<&O::Process::allow_spawn>, "", "off",
              "processes may start others (MPI_Comm_spawn) although nothing shows that the program is MPI: "
              "then each of them, and each host of the job, can start programs on all its hosts"},
    OptionRow{"universe-size", Topic::program, at<&O::Process::universe>, "N", "the slots of the hosts",
              "what MPI programs get for MPI_UNIVERSE_SIZE: how many processes they may want in all", 1,
              kMaxProcesses},
    OptionRow{
        "on-failure", Topic::program, at<&O::Recovery::on_failure>, "POLICY", "abort",
        "abort: a process or host that is lost ends the job, and if you give it so does a plain process "
        "that exits with another status than 0; continue: the others go on without it (plain and "
        "client-lib programs, not Charm++); restart: the process, or the program as a whole, is "
        "started again, on the hosts that are left (see also ++spare-hosts, ++shrink-ok)"},
    OptionRow{"syncft", Topic::program, at<&O::Recovery::syncft>, "", "as the program's text says",
              "the program is a fault-tolerant build of Charm++, which restarts lost processes by its own "
              "protocol (any other is ended by that); ++no-syncft: it is none"},
    OptionRow{
        "restart-args", Topic::program, at<&O::Recovery::restart_arguments>, "ARGUMENTS", "none",
        "++on-failure restart: always the program as a whole, with these behind its own arguments, such "
        "as '+restart checkpoints' (or '': none)"},
    OptionRow{"max-restarts", Topic::program, at<&O::Recovery::max_restarts>, "N", "10",
              "++on-failure restart: so often at most; never again after 5 starts in a row that failed "
              "within 10 s",
              0, 1'000'000},
    OptionRow{
        "shrink-ok", Topic::program, at<&O::Recovery::shrink_ok>, "", "off",
        "++on-failure restart: with fewer processes if hosts are missing, and no spare takes their place"},
    OptionRow{
        "fast-failover", Topic::program, at<&O::Recovery::fast_failover>, "", "off",
        "++on-failure restart: at once, even if processes may still run on a host that cannot be reached"},
    OptionRow{
        "stdin", Topic::program, at<&O::Process::input>, "R|all|none", "0",
        "which process gets our stdin; all: each a copy; none: it is not read, as in `while read` loops", 0,
        kMaxProcesses - 1},
    OptionRow{"ipcpoolsize", Topic::program, at<&O::Process::ipc_pool_size>, "N", "the program's own",
              "size of the pool of shared memory of each process (builds that use it); -1 for the default", 0,
              kMaxPes},
    OptionRow{"ipccutoff", Topic::program, at<&O::Process::ipc_cutoff>, "N", "the program's own",
              "longest message that goes through shared memory (builds that use it); -1 for the default", 0,
              kMaxPes},

    OptionRow{"timeout", Topic::time, at<&O::Time::to_start>, "SECONDS", "60",
              "how long hosts and processes may take to start"},
    OptionRow{"timelimit", Topic::time, at<&O::Time::limit>, "SECONDS", "none",
              "end the job after this time, with status 124; -1 for none"},

    OptionRow{"grace", Topic::time, at<&O::Time::grace>, "SECONDS", "2",
              "how long processes that were told to end may take, before they are killed"},
    OptionRow{"heartbeat", Topic::time, at<&O::Time::heartbeat>, "SECONDS", "0.25",
              "launchers say at least so often that they live, and 4 times in ++detect-within; -1: never"},
    OptionRow{"detect-within", Topic::time, at<&O::Time::detect_within>, "SECONDS", "1",
              "a host that is silent for so long and does not answer is gone"},
    OptionRow{"orphan-after", Topic::time, at<&O::Time::orphan_after>, "SECONDS", "8",
              "a host that has heard nothing from above for so long ends what it runs of the job"},
    OptionRow{"hang-after", Topic::time, at<&O::Time::hang_after>, "SECONDS", "60",
              "a Charm++ process that has said nothing for so long, and for two of its pings, computes "
              "without a pause or hangs; -1: never"},
    OptionRow{"hang-action", Topic::time, at<&O::Time::hang_action>, "ACTION", "report",
              "what is done then; report: it is told; kill: the process is killed (Charm++ programs)"},
    OptionRow{"keep-alive", Topic::time, at<&O::Time::keep_alive>, "SECONDS", "none",
              "should this charmrun be lost, or its terminal, the job goes on and waits for so long until "
              "charmrun ++attach takes over; -1 for none"},
    OptionRow{
        "int-ends", Topic::time, at<&O::Time::int_ends>, "", "on",
        "Ctrl-C ends the job; ++no-int-ends: it is the program's, which may survive it, but twice within "
        "a second it ends the job at once"},

    OptionRow{"verbose", Topic::talk, at<&O::View::verbose>, "", "off",
              "say what is done, and show the times of the start"},
    OptionRow{"quiet", Topic::talk, at<&O::View::quiet>, "", "off", "say nothing but errors; ++verbose wins"},
    OptionRow{"label", Topic::talk, at<&O::Output::label>, "", "off",
              "begin each line of the program's output with the number of its process: [7] text"},
    OptionRow{"label-format", Topic::talk, at<&O::Output::label_format>, "TEXT", "",
              "begin each line with this text instead: %r is the process's number, %h its host, %t the time, "
              "%s stdout or stderr, %% a percent sign"},
    OptionRow{"timestamp", Topic::talk, at<&O::Output::timestamp>, "", "off",
              "begin each line with the time when it was read on its host, by this machine's clock"},
    OptionRow{
        "output", Topic::talk, at<&O::Output::file>, "DIR/%r.out", "",
        "write what each process prints to a file here, instead of stdout and stderr; %r is its number, "
        "%h its host, %s the stream (both, unless it is there); files are emptied first, folders made"},
    OptionRow{"fold", Topic::talk, at<&O::Output::fold>, "", "on a terminal, with more than 8 processes",
              "show equal lines of stdout once: [0-511] step 10 done; ++no-fold: each by itself"},
    OptionRow{"fold-window", Topic::talk, at<&O::Output::fold_window>, "SECONDS", "0.5",
              "how long a line may wait for its equals"},
    OptionRow{
        "raw", Topic::talk, at<&O::Output::raw>, "", "off",
        "pass output on as it comes, byte for byte, as that of a job of one process is; otherwise "
        "lines are never torn, and one that must be broken off (docs/manual/output.md) ends with \\ and goes "
        "on behind another \\"},
    OptionRow{
        "line-buffered", Topic::talk, at<&O::Output::line_buffered>, "", "for Open MPI's programs",
        "give each process a terminal of its own for stdout, so that a line comes when it is printed and "
        "is not lost when the process aborts; ++no-line-buffered: a pipe, in which the C library keeps "
        "up to 4 KiB back"},
    OptionRow{"json", Topic::talk, at<&O::View::json>, "FILE", "",
              "write what happens to the job as JSON lines (docs/manual/events.md), or what ++doctor, "
              "++status and ++list say (docs/manual/status.md); -: to stdout, which then carries them alone, "
              "with the output inside; fd:N: to a descriptor that is open"},
    OptionRow{"dashboard", Topic::talk, at<&O::View::dashboard>, "", "off",
              "serve a web page on 127.0.0.1 that shows the job while it runs (hosts, processes, how far it "
              "is, the last of the output); its address, which lets in only you, is printed on stderr"},
    OptionRow{
        "spool", Topic::talk, at<&O::Output::spool>, "SIZE", "1G",
        "how much output of Charm++ and native programs each host may keep in an unlinked file ($TMPDIR or "
        "/tmp there) while nobody reads it: bytes, or with K, M or G; then printing waits"},
    OptionRow{"report", Topic::talk, at<&O::View::report>, "FILE", "",
              "write the times of the start of every launcher, as JSON"},
    OptionRow{"timeline", Topic::talk, at<&O::View::timeline>, "FILE", "",
              "draw them: FILE.svg as a picture, FILE.json for a Chrome trace viewer"},
    OptionRow{
        "draw", Topic::talk, at<&O::View::draw>, "FILE", "",
        "++stack-trees: draw them, too: FILE.svg as a picture, FILE.dot as a graph for STATview or dot"},
    OptionRow{"all-frames", Topic::talk, at<&O::View::all_frames>, "", "off",
              "++stack-trees: what is inside of MPI, of an idle Charm++ scheduler and outside of main, too"},
    OptionRow{"help", Topic::talk, at<&O::help>, "", "",
              "show this and stop; behind it man: the manual page; bash, zsh, fish: completions for them"},
    OptionRow{"version", Topic::talk, at<&O::version>, "", "",
              "show the version, the protocol, the build and its libraries, and stop"},

    OptionRow{"server", Topic::ccs, at<&O::Ccs::wanted>, "", "off",
              "take requests for the program from its clients; who reaches the port can end the job"},
    OptionRow{"server-port", Topic::ccs, at<&O::Ccs::port>, "N", "any",
              "listen on this port; implies ++server", 0, kMaxPort},
    OptionRow{"server-host", Topic::ccs, at<&O::Ccs::host>, "ADDRESS",
              "$CHARMTREE_SERVER_HOST, else ++useip, else found out",
              "listen on this address of the machine and on loopback; 127.0.0.1: on loopback alone; implies "
              "++server"},
    OptionRow{"server-auth", Topic::ccs, at<&O::Ccs::keys>, "FILE", "",
              "the keys that clients must have, lines of a level (0: for all requests, to 254) and a key (32 "
              "decimal digits, or OTP: one is made and shown); implies ++server"},
    OptionRow{"server-auth-weak", Topic::ccs, at<&O::Ccs::weak_keys>, "", "off",
              "take keys that are easily guessed, too"},
    OptionRow{"server-any-user", Topic::ccs, at<&O::Ccs::any_user>, "", "off",
              "serve all users of this machine, not only you; implies ++server"},
    OptionRow{"server-deny", Topic::ccs, at<&O::Ccs::denied>, "HANDLER,...", "",
              "refuse requests for these handlers, such as ccs_killpe; implies ++server"},
    OptionRow{"server-timeout", Topic::ccs, at<&O::Ccs::timeout>, "SECONDS", "none",
              "give an empty reply to a request that the program has not answered by then; implies ++server"},

    OptionRow{
        "debug", Topic::debug, at<&O::Debug::wanted>, "", "off",
        "a gdb prompt for each process before its first instruction, in an xterm, or without a display in "
        "tmux; of more than 16 processes, one for all (docs/manual/debuggers.md)"},
    OptionRow{"debug-no-pause", Topic::debug, at<&O::Debug::no_pause>, "", "off",
              "the same, and they run at once"},
    OptionRow{"debug-commands", Topic::debug, at<&O::Debug::commands>, "TEXT", "",
              "what prompts are told first, ++gdb's too; \\n separates commands"},
    OptionRow{"debugger", Topic::debug, at<&O::Debug::debugger>, "COMMAND", "gdb",
              "the gdb of the hosts, or one of its kin; of ++dap the debug adapter, such as lldb-dap"},
    OptionRow{"in-xterm", Topic::debug, at<&O::Debug::in_xterm>, "", "off",
              "show what each process prints in a window of its own, too, as ++debug opens them"},
    OptionRow{"xterm", Topic::debug, at<&O::Debug::xterm>, "COMMAND", "xterm", "the xterm"},
    OptionRow{"display", Topic::debug, at<&O::Debug::display>, "NAME", "$DISPLAY", "the display for xterms"},
    OptionRow{"ssh-display", Topic::debug, NoMember::flag, "", "off", "ignored: windows are opened here"},
    OptionRow{"no-xrdb", Topic::debug, NoMember::flag, "", "off", "ignored"},
    OptionRow{"charmdebug", Topic::debug, NoMember::flag, "", "off",
              "ignored: today's CharmDebug looks at the program itself, and needs ++server alone"},

    OptionRow{"newp", Topic::resize, NoMember::integer, "N", "1", "ignored", 0, kMaxProcesses},
    OptionRow{"oldp", Topic::resize, NoMember::integer, "N", "1", "ignored", 0, kMaxProcesses},
    OptionRow{"shrinkexpand", Topic::resize, NoMember::flag, "", "off", "ignored"},
    OptionRow{"charmrun_port", Topic::resize, NoMember::integer, "N", "0", "ignored", 0, kMaxPort},
};

Error bad_value(const OptionRow& row, std::string_view text, std::string_view needed) {
  return {Errc::bad_input, Phase::options, fmt::format("++{} cannot be '{}'", row.name, quotable(text)),
          fmt::format("it takes {}", needed)};
}

bool read_seconds(std::string_view text, Duration& out) {
  double value = 0;
  if (!read_whole(text, value) || !std::isfinite(value) || value <= 0 || value > kMaxSeconds) return false;
  out = std::chrono::round<Duration>(std::chrono::duration<double>(value));
  return out > Duration::zero();
}

bool read_size(std::string_view text, std::uint64_t& bytes) {
  static constexpr std::string_view kUnits = "KMG";
  const std::size_t unit = text.empty() ? std::string_view::npos : kUnits.find(text.back());
  const bool plain = unit == std::string_view::npos;
  std::uint32_t number = 0;
  if (!read_whole(plain ? text : text.substr(0, text.size() - 1), number)) return false;
  bytes = plain ? number : std::uint64_t{number} << (10 * (unit + 1));
  return bytes <= kMaxSpool;
}

// One overload for each kind of option.
struct Setter {
  const OptionRow& row;
  const OptionValue& value;
  Options& options;

  Result<void> operator()(OptionMember<bool> member) const {
    member.in(options) = value.on;
    return {};
  }
  Result<void> operator()(OptionMember<std::uint32_t> member) const { return take(member.in(options)); }
  Result<void> operator()(OptionMember<LoginRate> member) const {
    std::string_view text = value.text;
    if (text.ends_with("/s")) text.remove_suffix(2);
    std::uint32_t number = 0;
    if (!read_whole(text, number) || number < row.low || number > row.high)
      return bad_value(row, value.text, fmt::format("logins per second, from {} to {}", row.low, row.high));
    member.in(options).per_second = number;
    return {};
  }
  /// The names of an enumeration's values, from `first` on.
  template <class E>
  Result<void> one_of(OptionMember<E> member, std::initializer_list<std::string_view> names,
                      E first = E{}) const {
    const auto name = std::find(names.begin(), names.end(), value.text);
    if (name == names.end()) {
      const std::vector<std::string_view> others{names.begin(), names.end() - 1};
      return bad_value(row, value.text, fmt::format("{} or {}", join(others, ", "), *(names.end() - 1)));
    }
    member.in(options) = static_cast<E>(static_cast<int>(first) + (name - names.begin()));
    return {};
  }
  Result<void> operator()(OptionMember<wire::OnHostFailure> member) const {
    return one_of(member, {"abort", "drop", "spare"});
  }
  Result<void> operator()(OptionMember<wire::OnFailure> member) const {
    return one_of(member, {"abort", "continue", "restart"});
  }
  Result<void> operator()(OptionMember<BindUnit> member) const {
    return one_of(member, {"core", "socket", "numa", "none"}, BindUnit::core);
  }
  Result<void> operator()(OptionMember<HangAction> member) const {
    return one_of(member, {"report", "kill"});
  }
  Result<void> operator()(OptionMember<Pmi> member) const {
    return one_of(member, {"auto", "1", "2", "pmix", "port", "none"});
  }
  Result<void> operator()(OptionMember<StartedBy> member) const {
    return one_of(member, {"auto", "ssh", "srun", "blaunch", "flux", "pbsdsh"});
  }
  Result<void> operator()(OptionMember<wire::EnvLike> member) const {
    return one_of(member, {"none", "openmpi", "mpich", "slurm"});
  }
  Result<void> operator()(OptionMember<ResourceManager> member) const {
    return one_of(member,
                  {"auto", "none", "slurm", "slurm-job", "pbs", "lsf", "sge", "oar", "kubernetes", "flux"});
  }
  Result<void> operator()(OptionMember<Variables> member) const {
    if (const auto wanted = proto::why_not_settable(value.text); !wanted.empty())
      return bad_value(row, value.text, std::string(wanted));
    member.in(options).all.emplace_back(value.text);
    return {};
  }
  Result<void> operator()(OptionMember<std::optional<InputTarget>> member) const {
    InputTarget target;
    if (value.text == "all")
      target.who = InputTarget::Who::all;
    else if (value.text == "none")
      target.who = InputTarget::Who::none;
    else if (!read_whole(value.text, target.process) || target.process > row.high)
      return bad_value(row, value.text, "a process number, from 0, or all or none");
    member.in(options) = target;
    return {};
  }
  Result<void> operator()(OptionMember<std::optional<bool>> member) const {
    member.in(options) = value.on;
    return {};
  }
  Result<void> operator()(OptionMember<std::optional<std::uint32_t>> member) const {
    member.in(options).reset();
    if (value.text == "-1") return {};
    std::uint32_t number = 0;
    if (!read_whole(value.text, number) || number < row.low || number > row.high)
      return bad_value(row, value.text,
                       fmt::format("a whole number from {} to {}, or -1 for none", row.low, row.high));
    member.in(options) = number;
    return {};
  }
  Result<void> operator()(OptionMember<ByteSize> member) const {
    if (!read_size(value.text, member.in(options).bytes))
      return bad_value(row, value.text, "a number of bytes, such as 500M or 2G, up to 1024G");
    return {};
  }
  Result<void> operator()(OptionMember<std::string> member) const { return take(member.in(options)); }
  Result<void> operator()(NoMember what) const {
    std::uint32_t number = 0;
    std::string text;
    if (what == NoMember::integer) return take(number);
    if (what == NoMember::string) return take(text);
    return {};
  }
  Result<void> operator()(OptionMember<Command> member) const {
    auto words = split_command(value.text);
    if (!words) return bad_value(row, value.text, "a command, with closed quotes");
    member.in(options) = std::move(*words);
    return {};
  }
  Result<void> operator()(OptionMember<std::optional<Command>> member) const {
    auto words = value.text.empty() ? std::optional{Command{}} : split_command(value.text);
    if (!words) return bad_value(row, value.text, "words, with closed quotes");
    member.in(options) = std::move(*words);
    return {};
  }
  Result<void> operator()(OptionMember<Duration> member) const {
    if (!read_seconds(value.text, member.in(options)))
      return bad_value(row, value.text, "seconds above 0, such as 30 or 0.5");
    return {};
  }
  Result<void> operator()(OptionMember<std::optional<Duration>> member) const {
    member.in(options).reset();
    if (value.text == "-1") return {};
    Duration limit{};
    if (!read_seconds(value.text, limit))
      return bad_value(row, value.text, "seconds above 0, or -1 for none");
    member.in(options) = limit;
    return {};
  }

private:
  Result<void> take(std::uint32_t& out) const {
    std::uint32_t number = 0;
    if (!read_whole(value.text, number) || number < row.low || number > row.high)
      return bad_value(row, value.text, fmt::format("a whole number from {} to {}", row.low, row.high));
    out = number;
    return {};
  }
  Result<void> take(std::string& out) const {
    if (value.text.empty())
      return bad_value(row, value.text, fmt::format("a {} that is not empty", row.value));
    out = value.text;
    return {};
  }
};

}  // namespace

std::string_view title(OptionTopic topic) {
  static constexpr std::array<std::string_view, kOptionTopicCount> kTitles = {
      "How many processes",  "Which hosts", "How launchers are started",
      "The program",         "Time",        "What is shown",
      "Client-server (CCS)", "Debuggers",   "Taken and ignored (jobs that are resized)"};
  return kTitles[static_cast<std::size_t>(topic)];
}

std::span<const OptionRow> option_table() {
  return kTable;
}

const OptionRow* find_option(std::string_view name) {
  const auto row =
      std::find_if(kTable.begin(), kTable.end(), [&](const OptionRow& r) { return r.name == name; });
  return row == kTable.end() ? nullptr : &*row;
}

Result<void> set_option(const OptionRow& row, const OptionValue& value, Options& options) {
  return std::visit(Setter{row, value, options}, row.target);
}

void copy_option(const OptionRow& row, const Options& from, Options& to) {
  std::visit(
      [&](auto target) {
        if constexpr (!std::is_same_v<decltype(target), NoMember>) target.in(to) = target.of(from);
      },
      row.target);
}

std::string_view guess_option(std::string_view word) {
  std::vector<std::string_view> names;
  names.reserve(kTable.size() + mode_table().size());
  for (const OptionRow& row : kTable) names.push_back(row.name);
  for (const ModeRow& row : mode_table()) names.push_back(row.name);
  return closest_word(word, names);
}

}  // namespace charmtree
