// SPDX-License-Identifier: Apache-2.0
// The hands of a launcher on its own host: carries out Prepare, Spawn, Signal, KillLeftovers, the client
// sockets and the input pipe, and reports what happens as events. Decides nothing about the job.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "debug/events.hpp"
#include "input/events.hpp"
#include "stacks/events.hpp"
#include "staging/events.hpp"
#include "tree/io/child_watch.hpp"
#include "tree/io/host/autopsy.hpp"
#include "tree/io/host/checkup.hpp"
#include "tree/io/host/client_listener.hpp"
#include "tree/io/host/debugger.hpp"
#include "tree/io/host/held_processes.hpp"
#include "tree/io/host/host_setup.hpp"
#include "tree/io/host/job_cgroup.hpp"
#include "tree/io/host/pmix_process.hpp"
#include "tree/io/host/process_request.hpp"
#include "tree/io/host/program.hpp"
#include "tree/io/host/spool_file.hpp"
#include "tree/io/host/stack_reader.hpp"
#include "tree/io/host/staged_cache.hpp"
#include "tree/io/host/tool.hpp"
#include "tree/io/link/leftovers.hpp"
#include "tree/io/spawn.hpp"
#include "tree/turn/events.hpp"

namespace charmtree::io {

class HostRuntime {
public:
  using Sink = std::function<void(proto::Event)>;
  /// `sink` takes events, `note` a line for ++verbose. `watch` must outlive the object.
  HostRuntime(asio::io_context& io, ChildWatch& watch, Sink sink, std::function<void(std::string)> note);
  ~HostRuntime();

  /// See ClientListener.
  Result<std::uint16_t> open_to_clients(const std::vector<std::uint32_t>& addresses, std::uint16_t port,
                                        bool any_user) {
    return listener_.open_to_clients(addresses, port, any_user);
  }

  void execute(const proto::Prepare& action);
  void execute(const proto::Spawn& action);
  void execute(const proto::StartPmix& action);
  void execute(const proto::DescribeTopology& action);
  void execute(const proto::AdoptProcess& action);
  void execute(const stacks::ReadStacks& action);
  void execute(const debug::Debug& action);
  void execute(const debug::RunTool& action);
  void execute(const proto::Signal& action);
  void execute(const proto::KillLeftovers& action);
  void execute(const proto::DrainOutput& action);
  void execute(const proto::WriteInput& action);
  void execute(const input::RecallPipe& action);
  void execute(const input::ResizeTerminal& action);
  void execute(proto::ClientSend action) {
    listener_.send(action.client, std::move(action.bytes), std::move(action.tail), action.shared,
                   action.port);
  }
  void execute(const proto::ClientClose& action) { listener_.close(action.client); }
  void execute(const proto::PauseOutput& action);
  void execute(const proto::PauseClient& action) { listener_.pause_client(action.client, action.paused); }
  void execute(const proto::LookAtClient& action);
  void execute(const proto::LookForMpi& action);
  void execute(const staging::FilesStaged& action);
  template <class A>
  requires requires(StagedCache& staged, const A& action) { staged.execute(action); }
  void execute(const A& action) { staged_.execute(action); }
  template <class A>
  requires requires(SpoolFile& spool, const A& action) { spool.execute(action); }
  void execute(const A& action) { spool_.execute(action); }

  /// Stops (resumes) reading what clients say: their sockets fill up.
  void pause_clients(bool paused) { listener_.pause_reading(paused); }
  /// See ClientListener.
  void flush_clients() { listener_.flush(); }

private:
  void forget_run();
  Result<void> open_sockets();
  void set_up();
  void prepared(Result<std::vector<std::string>> environment);
  void ready();
  bool adopt(const proto::AdoptProcess& action);
  void answer(proto::Prepared prepared);
  ProcessHost process_host() const;
  void spawn_on_terminal(std::uint32_t process, SpawnRequest request);
  void start(std::uint32_t process, SpawnRequest request, Program::Pipes pipes);
  void exited(proto::ProcessExited event, pid_t pid);
  bool program_can_fork() const;
  void end_helper(std::function<void()> done);
  bool find_parent() const;
  std::map<std::uint32_t, pid_t> present() const;

  asio::io_context& io_;
  ChildWatch& watch_;
  Sink sink_;
  HostSetup setup_;
  Examination examination_;
  ClientListener listener_;
  PmixProcess pmix_;
  proto::ClientId pmix_client_ = 0;
  Leftovers leftovers_;
  SpoolFile spool_;
  StagedCache staged_;
  bool awaits_files_ = false;  // with what is left to make the host ready
  StackReader stacks_;
  struct Beside {  // our processes: by session
    std::map<std::uint32_t, Debugger> debuggers;
    std::map<std::uint32_t, Tool> tools;
  } beside_;
  std::vector<JobCgroup> cgroups_;  // ours, or those that are swept
  Autopsy autopsy_;
  std::set<std::uint32_t> killed_;  // by us
  HeldProcesses held_;
  std::shared_ptr<const wire::JobSpec> job_;
  Host self_;
  std::vector<std::string> environment_;
  std::optional<bool> sees_parent_;  // true, too, where nobody needs to know
  std::map<std::uint32_t, std::shared_ptr<Program>> programs_;
};

}  // namespace charmtree::io
