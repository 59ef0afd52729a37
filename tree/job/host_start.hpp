// SPDX-License-Identifier: Apache-2.0
// The start of a host's processes: the host is made ready, its processes wait to be spawned and are, bound if
// that is wanted, and the root hears when all of them have been.
//
// Where processes must have the same address layout and it cannot be fixed, only the first is started; once
// it has registered as a Charm++ client it forks the others, which are adopted when they register.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tree/job/host_turn.hpp"
#include "tree/turn/binding.hpp"

namespace charmtree::proto {

/// What processes are started with, as Prepared says it.
struct ReadyHost {
  wire::Address address;
  std::optional<CpuMap> cpus;
  bool random_layout = false, can_fork = false;
};

class HostStart {
public:
  /// Processes started in one turn: about as long as a login takes, so that nothing else waits for long.
  static constexpr std::uint32_t kSpawnsAtOnce = 4;

  /// The host answers when it is ready, and the helper of its processes, which wait for the word.
  void hold() { is_held_ = true; }
  void go();
  /// The host is ready.
  void begin(ReadyHost host, HostTurn& turn);
  const ReadyHost& host() const { return host_; }
  /// The host is ready, and not all of its processes have been started.
  bool waits_to_spawn(const OwnProcesses& own) const;
  /// Starts the next ones.
  void spawn(HostTurn& turn);
  /// Starts the ordered successor of a process that is gone.
  void start_successor(std::uint32_t process, HostTurn& turn);

  void on(const Prepared& event, HostTurn& turn);
  void on(const Spawned& event, HostTurn& turn);
  void on(const ProcessAdopted& event, HostTurn& turn);
  void on(const SpawnFailed& event, HostTurn& turn);
  /// The helper that processes wait for serves them, or there is none.
  void serves(ServerReady& output, HostTurn& turn);
  /// A forked one has registered.
  void adopt(const Registered& output, ClientKind kind, HostTurn& turn);

  /// That one is to be started, too, behind all others.
  void await(std::uint32_t process) { further_.push_back(process); }
  /// A process has come from another host, and has the next rank.
  void joined(const wire::JobSpec& job, std::uint32_t rank);
  /// The job is resized; `staying` are started already.
  void reshape(std::uint32_t staying, HostTurn& turn);

  /// The host could not be made ready, or a process could not be started.
  bool failed() const { return failed_; }
  /// When the last one was started; kNever: not yet.
  Instant spawned_at() const { return spawned_at_; }

private:
  /// Of a server: without its variables no process is started that may want them.
  enum class Helper : std::uint8_t { none, wanted, started };
  bool waits_for_helper(std::uint32_t process) const {
    return helper_ != Helper::none && !variables_.contains(process);
  }
  /// How many the shell starts.
  static std::uint32_t to_spawn(const OwnProcesses& own) {
    return own.phase().forking ? 1 : own.local().count;
  }
  bool forks(const HostTurn& turn) const;
  void start_helper(HostTurn& turn);
  void start(std::uint32_t process, std::vector<std::string> more_arguments, HostTurn& turn);
  void all_are_up(HostTurn& turn);
  void tell_ids(std::uint32_t first, std::uint32_t count, HostTurn& turn);
  /// One that others do not wait for, or no longer.
  void has_id(std::uint32_t process, std::uint32_t id, HostTurn& turn);
  void fail(const Error& error, HostTurn& turn);

  ReadyHost host_;
  std::vector<wire::Binding> bindings_;  // of the processes; empty: none is bound, or to be reported
  std::uint32_t spawned_ = 0;            // or being started
  std::deque<std::uint32_t> further_;    // that wait, behind those
  std::uint32_t started_ = 0;            // spawn answered
  bool ready_ = false;
  std::map<std::uint32_t, std::vector<std::string>> variables_;  // of its helper, by process
  Helper helper_ = Helper::none;
  bool is_held_ = false;
  bool failed_ = false;
  Instant spawned_at_ = kNever;
};

}  // namespace charmtree::proto
