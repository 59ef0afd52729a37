// SPDX-License-Identifier: Apache-2.0
// The part between a launcher and the processes of its host (HostProcesses), in one run of the program. The
// root has none. Which processes these are is told with the launcher's Welcome, or by Numbers once all hosts
// have answered; Reshape, Moved and WorldBegun change it.
//
// Its messages: TableDown, Numbers, Reshape, Moved, WorldBegun, QueuePairsUp and QueuePairsDown; all that are
// for one process (ForOneProcess), and those that each launcher hands on before its own host hears them.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "tree/base/handle.hpp"
#include "tree/job/host_processes.hpp"
#include "tree/overlay/startup_times.hpp"
#include "tree/turn/turn.hpp"

namespace charmtree::proto {

/// A launcher's place in its job: what it was welcomed with, as later messages have changed it.
struct Place {
  std::shared_ptr<wire::JobSpec> job;  // null: it has not been welcomed
  Host self;
  std::uint32_t level = 0;
};

/// The launcher of the process in the message acts on it, the others pass it on.
using ForOneProcess = wire::MessageList<wire::Receipt, wire::ScanReply, wire::CcsForward, wire::Inquired,
                                        wire::Answered, wire::Restart, wire::Readmit, wire::Admit>;

class HostPart {
public:
  /// Both must outlive the object.
  HostPart(Place& place, StartupTimes& times) : place_(place), times_(times) {}

  /// Null: there are none yet, or this is the root.
  HostProcesses* processes() { return processes_ ? &*processes_ : nullptr; }
  const HostProcesses* processes() const { return processes_ ? &*processes_ : nullptr; }
  bool contains(std::uint32_t process) const { return processes_ && processes_->contains(process); }

  /// The host is made ready for them; or what the last run has left there cannot be killed, and none will be.
  void begin(bool may_start, Turn& turn);
  /// Those that wait for it are started. Logins come first: other hosts wait for them, while processes can be
  /// started as well while logins are on their way.
  void spawn(Turn& turn);
  void tick(Turn& turn);
  Instant next_deadline() const;
  void finish(const wire::End& end, Turn& turn);
  void signal(int signal, Turn& turn) const;
  /// Their pipes are left alone, or read again.
  void hold_output(bool held, Turn& turn);

  /// What the shell tells of processes and their connections.
  template <class E>
  void on(E event, Turn& turn) {
    if (!processes_) return;
    if constexpr (requires { event.process; }) {
      if (!processes_->translate(event.process)) return;
    }
    const bool was_spawned = processes_->spawned_at() != kNever;
    Upward upward;
    processes_->on(event, turn.now(), turn.out(), upward);
    if constexpr (std::is_same_v<E, Prepared>) times_.reached(wire::Stamps::prepared, turn.now());
    note_start(was_spawned, turn);
    turn.tell_up(std::move(upward));
    if constexpr (std::is_same_v<E, ProcessExited>) turn.tell(ProcessGone{event.process});
  }

  void down(const wire::TableDown& table, Turn& turn);
  void down(const wire::Numbers& numbers, Turn& turn);
  void down(const wire::Reshape& order, Turn& turn);
  /// Processes of the job are on other hosts from now on: some may be here.
  void down(const wire::Moved& moved, Turn& turn);
  /// Further processes belong to the job: some may be here.
  void down(const wire::WorldBegun& begun, Turn& turn);
  void down(const wire::Release& release, Turn& turn);
  /// The way to the root is another one.
  void down(const wire::Resend& order, Turn& turn);
  void down(const wire::Recover& message, Turn& turn) { act(&HostProcesses::recover, message, turn); }
  void down(const wire::Lost& message, Turn& turn) { act(&HostProcesses::lost, message, turn); }
  void down(const wire::Renewed& message, Turn& turn) { act(&HostProcesses::renewed, message, turn); }
  void down(const wire::Regroup& message, Turn& turn);
  void down(const wire::ForwardSignal& message, Turn& turn) { signal(message.signal, turn); }
  void fenced(const FenceDone& message, Turn& turn) {
    act(&HostProcesses::tell_servers<&ClientServer::fenced, FenceDone>, message, turn);
  }
  void ringed(const RingDone& message, Turn& turn) {
    act(&HostProcesses::tell_servers<&ClientServer::ringed, RingDone>, message, turn);
  }
  template <class M>
  requires(kCount<M, ForOneProcess> == 1) void down(const M& message, Turn& turn) {
    contains(message.process) ? here(message, turn) : turn.hand_down(message.process, message);
  }
  /// Queue pairs of verbs clients find their way through the tree: up until a launcher has the host that they
  /// are for below it, then down to that host. No launcher but that one keeps them.
  void route(const wire::QueuePairs& block, Turn& turn);

  /// Root: the hosts have got these processes, or start those that they have.
  static void number(const std::vector<wire::Share>& shares, Turn& turn);
  static void begin_start(Turn& turn);
  /// Root, and every launcher for those below it: all of them get other processes.
  static void reshape(const wire::Reshape& order, const std::vector<wire::Share>& shares, Turn& turn);

private:
  void here(const wire::Receipt& message, Turn& turn);
  void here(const wire::ScanReply& message, Turn& turn);
  void here(const wire::CcsForward& message, Turn& turn);
  void here(const wire::Inquired& message, Turn& turn) {
    act(&HostProcesses::tell_servers<&ClientServer::inquired, wire::Inquired>, message, turn);
  }
  void here(const wire::Answered& message, Turn& turn) {
    act(&HostProcesses::tell_servers<&ClientServer::answered, wire::Answered>, message, turn);
  }
  void here(const wire::Restart& message, Turn& turn) { act(&HostProcesses::restart, message, turn); }
  void here(const wire::Readmit& message, Turn& turn) {
    act(&HostProcesses::tell_servers<&ClientServer::readmit, wire::Readmit>, message, turn);
  }
  void here(const wire::Admit& message, Turn& turn);

  template <class M>
  void act(void (HostProcesses::*function)(const M&, Instant, Actions&, Upward&), const M& message,
           Turn& turn) {
    if (!processes_) return;
    Upward upward;
    ((*processes_).*function)(message, turn.now(), turn.out(), upward);
    turn.tell_up(std::move(upward));
  }
  void start(Turn& turn);
  void note_start(bool was_spawned, Turn& turn);

  Place& place_;
  StartupTimes& times_;
  std::optional<HostProcesses> processes_;
  Instant spawn_at_ = kNever;  // the next ones
};

}  // namespace charmtree::proto
