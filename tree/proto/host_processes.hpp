// SPDX-License-Identifier: Apache-2.0
// The processes on a launcher's own host: starts them, lets them speak to the local servers (Charm++,
// native), puts their output into whole lines and says upwards what happened. It does not judge: what an exit
// means for the job is for the root to say.
//
// A process's raw stdout and stderr are carried until its node table has been delivered by a server whose
// clients copy them: once it has its table, a stock Charm++ client captures what it writes there and sends
// every chunk as a print message, too. From then on they are read and dropped. A process with a terminal
// (++interactive) may go on using it; so its raw output is carried on, and its messages are dropped if their
// copies are on the terminal.
//
// Where processes must have the same address layout and it cannot be fixed, only the first is started; once
// it has registered as a Charm++ client it forks the others, which are adopted when they register.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tree/proto/events.hpp"
#include "tree/proto/last_words.hpp"
#include "tree/proto/output_lines.hpp"
#include "tree/proto/queue_pairs.hpp"

namespace charmtree::proto {

/// What goes up: facts to be merged and messages to be sent as they are.
struct Upward {
  wire::Facts facts;
  std::vector<wire::Message> messages;
};

/// What processes are started with, as Prepared says it.
struct ReadyHost {
  std::uint32_t address = 0;
  std::optional<CpuMap> cpus;
  bool random_layout = false, can_fork = false;
};

class HostProcesses {
public:
  /// How long a lost connection waits for the exit that explains it.
  static constexpr Duration kExplain = 300ms;
  /// How long an exit waits for the end of what the process still has to say on its connection, since that
  /// last said anything; longer only if somebody else holds the connection open.
  static constexpr Duration kLastWords = 3s;

  HostProcesses(std::shared_ptr<const wire::JobSpec> job, const Host& self);

  /// Processes started in one turn: about as long as a login takes, so that nothing else waits for long.
  static constexpr std::uint32_t kSpawnsAtOnce = 4;

  /// Asks the shell to make the host ready.
  void prepare(Actions& out);
  /// The host is ready for this object, too.
  void start(ReadyHost host, Upward& up);
  const ReadyHost& host() const { return host_; }
  /// The host is ready, and not all of its processes have been started.
  bool waits_to_spawn() const { return ready_ && spawned_ < to_spawn() && !failed_ && !ending_; }
  /// Starts the next ones.
  void spawn(Actions& out);

  void on(const Prepared& event, Instant now, Actions& out, Upward& up);
  void on(const Spawned& event, Instant now, Actions& out, Upward& up);
  void on(const Adopted& event, Instant now, Actions& out, Upward& up);
  void on(const SpawnFailed& event, Instant now, Actions& out, Upward& up);
  void on(const ProcessOutput& event, Instant now, Actions& out, Upward& up);
  void on(const ProcessExited& event, Instant now, Actions& out, Upward& up);
  void on(const OutputDrained& event, Instant now, Actions& out, Upward& up);
  void on(const ClientOpened& event, Instant now, Actions& out, Upward& up);
  void on(const ClientBytes& event, Instant now, Actions& out, Upward& up);
  void on(const ClientClosed& event, Instant now, Actions& out, Upward& up);
  void on(const ClientSeen& event, Instant now, Actions& out, Upward& up);
  void tick(Instant now, Actions& out, Upward& up);
  Instant next_deadline() const;

  /// A coded NodeTable.
  void table(const wire::Blob& coded, Instant now, Actions& out, Upward& up);
  void release(BarrierKind kind, Instant now, Actions& out, Upward& up);
  void printed(std::uint32_t process, Instant now, Actions& out, Upward& up);
  void scanned(std::uint32_t process, std::string_view input, Instant now, Actions& out, Upward& up);
  /// The way to the root is another one: receipts may have been lost with the old one, and count as come; by
  /// a new root, who has no input, scanf reads its end.
  void wait_no_longer(bool by_new_root, Instant now, Actions& out, Upward& up);

  // Lost processes of a program that restarts them.
  /// These are on this host from now on; each is started by restart().
  void join(const wire::Share& share);
  /// Starts the process anew, as soon as nothing is left of the lost one.
  void restart(const wire::Restart& message, Instant now, Actions& out, Upward& up);
  void recover(const wire::Recover& message, Instant now, Actions& out, Upward& up);
  void admit(std::uint32_t process, Instant now, Actions& out, Upward& up);
  void renewed(const wire::Renewed& message, Instant now, Actions& out, Upward& up);
  void readmit(const wire::Readmit& message, Instant now, Actions& out, Upward& up);
  /// Processes of the job are lost: clients are told, and an own one that is alive is killed. Tells which of
  /// the others are in a barrier.
  void lost(const wire::Lost& message, Instant now, Actions& out, Upward& up);
  /// A piece of a CCS request.
  void request(const wire::CcsForward& piece, Instant now, Actions& out, Upward& up);
  /// A whole one (payload of `req_fw`) for a process of this host.
  void request(std::uint32_t process, std::string payload, Instant now, Actions& out, Upward& up);
  /// From another host, for the processes of this one.
  void queue_pairs(const wire::QueuePairs& block, Instant now, Actions& out, Upward& up);

  // Jobs that are resized. Its processes keep the names by which the shell knows them (their numbers at
  // first) when they get other numbers.
  void regroup(Instant now, Actions& out, Upward& up);
  /// The job has the new number of processes already; `share` may be empty.
  void reshape(const wire::Share& share, Instant now, Upward& up);
  std::uint32_t name_of(std::uint32_t process) const;
  /// Turns the name of a process into its number; false: there is none (any more).
  bool translate(std::uint32_t& process) const;

  /// The job ends: lets clients go; `signal` (0: none) goes to every process that is not a client whose
  /// server lets it go.
  void finish(int signal, Instant now, Actions& out, Upward& up);
  /// To every process.
  void signal(int signal, Actions& out) const;
  /// Stdin of a process; of one that is about to be replaced, its successor's.
  void write_input(std::uint32_t process, const std::string& bytes, bool end, Actions& out);
  /// Leaves the pipes of processes alone, or reads them again; but for those that hold copies.
  void hold_output(bool held, Actions& out);

  const LocalProcesses& local() const { return local_; }
  bool contains(std::uint32_t process) const { return local_.contains(process); }
  /// Those started, or being started, and not yet gone.
  std::vector<std::uint32_t> living() const;
  /// Processes started and not yet gone, or being started.
  std::uint32_t alive() const { return alive_; }
  /// The host could not be made ready, or a process could not be started.
  bool failed() const { return failed_; }
  bool all_registered() const { return registered_ == local_.count; }
  /// When the last one was started / registered; kNever: not yet.
  Instant spawned_at() const { return spawned_at_; }
  Instant registered_at() const { return registered_at_; }

private:
  struct Process {
    enum class State : std::uint8_t { unborn, starting, running, gone };
    State state = State::unborn;
    std::optional<ClientKind> kind;  // registered with that server
    bool ended = false;
    int code = 0;                       // of a native client's finalize
    std::array<bool, 2> copied{};       // raw stdout, stderr are copies from now on
    std::array<bool, 2> on_terminal{};  // what it prints on stdout, stderr is on its terminal already
    bool exited = false;                // its end has been reported
    Instant explain_by = kNever;
    std::string why;                            // its connection was lost because
    bool lost = false;                          // the connection
    std::array<bool, kBarrierKinds> entered{};  // barriers that have not opened
    bool held = false;                          // its pipes are left alone
    std::optional<ProcessExited> exit;  // to be reported when the connection has been read to its end,
    Instant report_by = kNever;         // or then
    wire::Tuple tuple;
    OutputLines lines;
    std::uint32_t restarts = 0;         // it is not the first of its number
    bool awaited = false;               // ... and others have one of that number in their table
    std::optional<wire::Restart> next;  // what is to be started when this one is gone
    std::string input_of_next;          // ... and what it is to read
    LastWords last_words;
    std::string request;  // CCS: the pieces of one so far
    Duration hung{0};     // it was killed for having been silent for so long
  };

  Process& at(std::uint32_t process) { return processes_[local_.rank_of(process)]; }
  const Process& at(std::uint32_t process) const { return processes_[local_.rank_of(process)]; }
  bool can_be_restarted(const Process& process) const;
  ClientServer& server(ClientKind kind) { return *servers_[static_cast<std::size_t>(kind)]; }
  /// Asks each server, and applies what it says before the next is asked.
  template <class F>
  void ask_each(F ask, Instant now, Actions& out, Upward& up) {
    for (std::size_t kind = 0; kind < kClientKinds; ++kind) {
      ClientOutputs outputs;
      ask(*servers_[kind], outputs);
      apply(static_cast<ClientKind>(kind), outputs, now, out, up);
    }
  }
  const Abilities& abilities_of(const Process& process) const;
  void apply(ClientKind kind, ClientOutputs& outputs, Instant now, Actions& out, Upward& up);
  static void apply(const RequestAnswered& output, Upward& up);
  void apply(const Registered& output, ClientKind kind, Instant now, Actions& out, Upward& up);
  void apply(const Refused& output, Upward& up);
  void apply(const BarrierEntered& entered, Upward& up);
  void apply(const wire::Silence& silence, Actions& out, Upward& up);
  void apply(const Printed& output, ClientKind kind, Instant now, Upward& up);
  void apply(const Ended& output, ClientKind kind, Upward& up);
  void apply(Aborted& output, Upward& up);
  void apply(ClientLost& output, Instant now);
  static void explain_kill(const Process& process, wire::ProcessExit& exit);
  /// How many the shell starts.
  std::uint32_t to_spawn() const { return forking_ ? 1 : local_.count; }
  bool forks() const;
  void apply(QueuePairsGiven& output, Instant now, Actions& out, Upward& up);
  QueuePairExchange* exchange();
  void obey(QueuePairExchange::Orders& orders, Instant now, Actions& out, Upward& up);
  void fork_others(ClientKind kind, Instant now, Actions& out, Upward& up);
  void adopt(const Registered& output, ClientKind kind, Actions& out);
  void flush(std::uint32_t process, wire::Tail tail, Upward& up);
  wire::ProcessExit exit_of(std::uint32_t process) const;
  void tell_who_ended(wire::ProcessSet::Range who, Upward& up) const;
  std::string take_last_words(std::uint32_t process);
  void start_process(std::uint32_t process, std::vector<std::string> more_arguments, Actions& out);
  void start_anew(std::uint32_t process, Actions& out);
  void tell_tuples(Instant now, Upward& up);
  void report_exit(std::uint32_t process, const ProcessExited& event, Upward& up);
  void report_waiting_exit(std::uint32_t process, Upward& up);
  bool must_be_heard(const Process& process) const;
  void tell(const Host& self, Error error, Upward& up) const;
  void await_first_words(Instant now);
  void give_up(std::uint32_t process, const std::string& why, Upward& up);
  void check_build(const Printed& output, Upward& up);

  std::shared_ptr<const wire::JobSpec> job_;
  Host self_;
  LocalProcesses local_;
  std::array<std::unique_ptr<ClientServer>, kClientKinds> servers_;
  std::vector<Process> processes_;
  ReadyHost host_;
  std::vector<wire::Binding> bindings_;        // of the processes; empty: none is bound, or to be reported
  bool forking_ = false;                       // the first process forks the others
  wire::Blob table_;                           // as it came
  std::optional<QueuePairExchange> exchange_;  // of verbs clients
  std::uint32_t alive_ = 0;
  std::uint32_t spawned_ = 0;  // or being started
  std::uint32_t started_ = 0;  // spawn answered
  std::uint32_t registered_ = 0;
  std::uint32_t waiting_exits_ = 0;
  std::uint32_t epoch_ = 0;           // of the last table
  std::vector<std::uint32_t> names_;  // by place; empty: as they are numbered
  std::uint32_t next_name_ = 0;
  bool regrouping_ = false;
  bool ready_ = false;
  bool failed_ = false;
  bool told_last_words_ = false;
  bool ending_ = false;
  bool output_held_ = false;
  bool look_at_pipes_ = false;  // other pipes may have to be left alone than before
  Instant spawned_at_ = kNever;
  Instant registered_at_ = kNever;
  Instant heard_by_ = kNever;  // some Charm++ client, once their table gives them several PEs
};

}  // namespace charmtree::proto
