// SPDX-License-Identifier: Apache-2.0
// The processes on a launcher's own host: starts them, lets them speak to the local servers (Charm++,
// native), puts their output into whole lines and says upwards what happened. It does not judge: what an exit
// means for the job is for the root to say.
//
// It is the switchboard of parts with one subject each: host_start, host_clients, host_registration,
// host_barriers, host_ends, and output_capture for each process.
//
// Lost processes are started anew, or the others go on without them. Who waits for whom in between is a
// matter of the program's protocol: Charm++'s wait until all know (recover, admit), a client library's for
// nobody (renewed, readmit), others know nothing of each other. A process that is still alive when it is to
// be replaced (only its connection was lost) is killed first: a number has one process at a time.
//
// In jobs that are resized every client is let go; which ones stay shows when they register again, under the
// name that they were started with. Then all get new numbers, those that stay in their order and behind them
// new ones, which are still to be started.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tree/job/host_clients.hpp"
#include "tree/job/host_output.hpp"
#include "tree/job/mpi_look.hpp"

namespace charmtree::proto {

class HostProcesses {
public:
  HostProcesses(std::shared_ptr<const wire::JobSpec> job, const Host& self);

  /// Asks the shell to make the host ready. `is_held`: its processes are not started before go().
  void prepare(bool is_held, Actions& out);
  void go() { parts_.start.go(); }
  /// The host is ready for this object as it is for that one.
  void start(const HostProcesses& prepared, Actions& out, Upward& up);
  bool waits_to_spawn() const { return parts_.start.waits_to_spawn(own_); }
  /// Starts the next ones.
  void spawn(Actions& out);

  /// Everything that the shell tells of processes and their connections: each part hears what it wants to.
  template <class E>
  void on(const E& event, Instant now, Actions& out, Upward& up) {
    HostTurn turn = turn_of(now, out, up);
    if constexpr (requires { clients_.on(event, turn, parts_); })
      clients_.on(event, turn, parts_);
    else
      tell(event, turn, parts_.start, parts_.ends, output_, mpi_look_);
  }
  void on(const ProcessExited& event, Instant now, Actions& out, Upward& up);
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
  /// These are on this host from now on; each is started by restart(), or (`is_new`) soon.
  void join(const wire::Share& share, bool is_new);
  /// Starts the process anew, as soon as nothing is left of the lost one.
  void restart(const wire::Restart& message, Instant now, Actions& out, Upward& up);
  void recover(const wire::Recover& message, Instant now, Actions& out, Upward& up);
  void admit(std::uint32_t process, Instant now, Actions& out, Upward& up);
  void renewed(const wire::Renewed& message, Instant now, Actions& out, Upward& up);
  /// What concerns servers alone.
  template <auto kHear, class M>
  void tell_servers(const M& message, Instant now, Actions& out, Upward& up) {
    HostTurn turn = turn_of(now, out, up);
    const auto ask = [&](ClientServer& each, ClientOutputs& outputs) { (each.*kHear)(message, outputs); };
    clients_.ask_each(ask, turn, parts_);
  }
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
  std::uint32_t name_of(std::uint32_t process) const { return own_.name_of(process); }
  /// Turns the name of a process into its number; false: there is none (any more).
  bool translate(std::uint32_t& process) const { return own_.translate(process); }

  /// The job ends: lets clients go; `signal` (0: none) goes to every process that is not a client whose
  /// server lets it go.
  void finish(int signal, Instant now, Actions& out, Upward& up);
  /// To every process.
  void signal(int signal, Actions& out) const;
  /// Stdin of a process; of one that is about to be replaced, its successor's.
  void write_input(std::uint32_t process, const std::string& bytes, bool end, Actions& out);
  /// Leaves the pipes of processes alone, or reads them again; but for those that hold copies.
  void hold_output(bool held, Actions& out) { output_.hold(held, own_, out); }

  const LocalProcesses& local() const { return own_.local(); }
  bool contains(std::uint32_t process) const { return local().contains(process); }
  /// Those started, or being started, and not yet gone.
  std::vector<std::uint32_t> living() const { return own_.living(); }
  /// Processes started and not yet gone, or being started.
  std::uint32_t alive() const { return own_.alive(); }
  /// The host could not be made ready, or a process could not be started.
  bool failed() const { return parts_.start.failed(); }
  bool all_registered() const { return parts_.registration.all_registered(own_); }
  /// When the last one was started / registered; kNever: not yet.
  Instant spawned_at() const { return parts_.start.spawned_at(); }
  Instant registered_at() const { return parts_.registration.registered_at(); }

private:
  void start_successor(std::uint32_t process, HostTurn& turn);
  HostTurn turn_of(Instant now, Actions& out, Upward& up) { return {*job_, self_.index, own_, now, out, up}; }
  /// To those parts that have a place for it; one of them must.
  template <class E, class... Parts>
  static void tell(const E& event, HostTurn& turn, Parts&... parts) {
    static_assert((kHears<Parts, E> || ...), "nobody hears this event");
    (tell_one(event, turn, parts), ...);
  }
  template <class E, class Part>
  static void tell_one(const E& event, HostTurn& turn, Part& part) {
    if constexpr (kHears<Part, E>) part.on(event, turn);
  }
  template <class Part, class E>
  static constexpr bool kHears = requires(Part& part, const E& event, HostTurn& turn) {
    part.on(event, turn);
  };

  std::shared_ptr<const wire::JobSpec> job_;
  Host self_;
  OwnProcesses own_;
  HostClients clients_;
  HostParts parts_;
  HostOutput output_;
  MpiLook mpi_look_;
};

}  // namespace charmtree::proto
