// SPDX-License-Identifier: Apache-2.0
#include "tree/io/host/host_runtime.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <charconv>
#include <fstream>
#include <iterator>
#include <set>

#include "tree/clients/pmix/pmix_variables.hpp"
#include "tree/io/host/cpu_quota.hpp"
#include "tree/io/host/cpus.hpp"
#include "tree/io/host/loaded_mpi.hpp"
#include "tree/io/host/own_addresses.hpp"
#include "tree/io/host/program.hpp"
#include "tree/io/host/program_reader.hpp"
#include "tree/io/link/guardian.hpp"
#include "tree/io/link/host_probe.hpp"
#include "tree/io/process_tree.hpp"
#include "tree/io/pseudo_terminal.hpp"
#include "tree/io/socket_folder.hpp"
#include "tree/io/spawn.hpp"
#include "tree/io/surroundings.hpp"
#include "tree/job/environment.hpp"
#include "tree/job/process_variables.hpp"
#include "tree/job/provision.hpp"

namespace charmtree::io {

namespace {
constexpr unsigned kMemoryDevices = 1, kNull = 3;  // /dev/null (the kernel's devices.txt)

/// The same on all hosts of a job.
std::uint64_t seed_of(std::string_view job) {
  std::uint64_t seed = 0;
  std::from_chars(job.data(), job.data() + job.size(), seed, 16);
  return seed;
}

Error no_descriptors() {
  return {Errc::spawn_failed, Phase::spawn, "out of file descriptors for its processes",
          "raise ulimit -n there"};
}
}  // namespace

HostRuntime::HostRuntime(asio::io_context& io, ChildWatch& watch, Sink sink,
                         std::function<void(std::string)> note)
    : io_(io),
      watch_(watch),
      sink_(std::move(sink)),
      setup_(io, watch),
      examination_(io, watch),
      listener_(io, {sink_, std::move(note)}),
      pmix_(io, watch),
      leftovers_(io),
      spool_(io, sink_),
      staged_(sink_),
      stacks_(io, watch),
      held_(io, watch) {}

HostRuntime::~HostRuntime() {
  forget_run();
  if (!listener_.path().empty()) ::unlink(topology_file(listener_.path()).c_str());
}

/// Nothing is heard any more of the processes that there were, nor of their clean-up.
void HostRuntime::forget_run() {
  leftovers_.cancel();
  beside_ = {};
  for (auto& [process, program] : programs_) program->detach();
  programs_.clear();
  killed_.clear();
  listener_.drop_clients();
}

Result<void> HostRuntime::open_sockets() {
  auto opened = listener_.open(job_->id, self_.index);
  if (opened) leave_to_guardian(listener_.path());
  return opened;
}

void HostRuntime::execute(const proto::Prepare& action) {
  forget_run();
  job_ = action.job;
  self_ = action.self;
  listener_.begin_ports(seed_of(job_->id));
  ::umask(static_cast<mode_t>(job_->spawn.umask));
  if (auto opened = open_sockets(); !opened) return answer({0, opened.error(), false});
  if (cgroups_.empty()) cgroups_.push_back(JobCgroup::of(job_->id, self_.index));
  cgroups_.front().make();
  autopsy_.begin(cgroups_.front().path());
  awaits_files_ = !job_->spawn.staged.files.empty();
  if (!awaits_files_) set_up();
}

void HostRuntime::execute(const staging::FilesStaged& action) {
  if (!std::exchange(awaits_files_, false)) return;  // at the root, or it is over
  action.error ? answer({0, *action.error, false}) : set_up();
}

void HostRuntime::set_up() {
  setup_.run(*job_, job_->profiles[self_.profile],
             [this](auto environment) { prepared(std::move(environment)); });
}

void HostRuntime::prepared(Result<std::vector<std::string>> environment) {
  if (!environment) return answer({0, environment.error(), false});
  environment_ = std::move(*environment);
  proto::overlay(environment_, proto::launcher_variables(job_->spawn.environment));
  proto::remove_foreign_library(environment_, job_->spawn.mpi.pmi, job_->profiles[self_.profile].environment);
  const bool runs = !job_->profiles[self_.profile].program.empty();
  if (runs && job_->waits_for_all()) {  // later others will have started theirs
    for (const std::uint32_t process : first_processes(*job_, self_)) {
      if (const auto file = file_to_execute(request_of(process_host(), process)); !file)
        return answer({0, file.error(), false});
    }
  }
  // In the loop's next round: if hosts to start have arrived with our own orders, their logins come before
  // our processes.
  asio::post(io_, [this] { ready(); });
}

void HostRuntime::ready() {
  const auto address = reachable_address(*job_, self_);
  if (!address) return answer({0, address.error(), false});
  proto::Prepared prepared{*address, {}, true};
  if (proto::needs_cpus(*job_)) {
    auto cpus = load_cpus();
    if (!cpus) return answer({0, cpus.error(), false});
    const bool counts = job_->provision.by_topology() && job_->spawn.bind == CpuUnit::none;
    if (const auto quota = counts ? cpu_quota() : std::nullopt) limit_count(*cpus, *quota);
    prepared.cpus = std::move(*cpus);
  }
  if (!sees_parent_) sees_parent_ = !may_restart_whole(job_->loss.recovery) || find_parent();
  prepared.blind = !*sees_parent_;
  const bool differ = job_->spawn.keep_address_randomisation || !can_fix_addresses();
  prepared.random_layout = differ && !job_->spawn.keep_address_randomisation;
  prepared.can_fork = differ && job_->spawn.fork_clients != wire::ForkClients::never && program_can_fork();
  answer(std::move(prepared));
}

/// That it acknowledges nothing any more would show. An ssh command may have gone through another host, which
/// goes on doing so. A parent on this same machine does not go without a word.
bool HostRuntime::find_parent() const {
  const Via via = job_->profiles[self_.profile].usual_via();
  if (via == Via::local) return true;
  const auto ends = ssh_connection();
  const auto socket = ends && via == Via::ssh ? SockDiag{}.find(*ends, true) : std::nullopt;
  return socket && socket->info;
}

/// A checkup looks at the rest, too, where a job has failed already.
void HostRuntime::answer(proto::Prepared prepared) {
  if (!job_->checkup) return sink_(std::move(prepared));
  examination_.run(*job_, self_, environment_.empty() ? job_->spawn.environment : environment_,
                   [this, prepared = std::move(prepared)](wire::Checkup found) mutable {
                     prepared.checkup = std::move(found);
                     sink_(std::move(prepared));
                   });
}

ProcessHost HostRuntime::process_host() const {
  return {*job_, self_, environment_, listener_.path(), listener_.port(), staged_.folder()};
}

/// Not one that restarts its processes: they would outlive or miss the one that forked them.
bool HostRuntime::program_can_fork() const {
  SpawnRequest request = request_of(process_host(), self_.first_process);
  request.program = file_of(process_host(), self_.first_process);
  const auto file = file_to_execute(request);
  const wire::ProgramTraits traits = file ? read_traits(*file) : wire::ProgramTraits{};
  return traits.netstart && !traits.restarts && !is_by_program(job_->loss.recovery);
}

void HostRuntime::execute(const proto::Spawn& action) {
  killed_.erase(action.process);  // one of that number before it may have been
  autopsy_.forget(action.process);
  if (auto opened = open_sockets(); !opened)  // the folder may be gone since
    return sink_(proto::SpawnFailed{action.process, opened.error()});
  SpawnRequest request = request_of(process_host(), action.process, action.more_arguments);
  request.cpus = action.cpus;
  request.held = action.held;
  proto::overlay(request.environment, action.environment);
  if (const std::uint32_t restarts = job_->loss.restarts + action.restarts;
      restarts > 0 || job_->loss.recovery == wire::Recovery::in_place)
    proto::overlay(request.environment, {fmt::format("CHARMTREE_RESTARTS={}", restarts)});
  const bool wants_input = job_->input.to_all || action.process == job_->input.process;
  if (wants_input && job_->terminal) return spawn_on_terminal(action.process, std::move(request));
  Program::Pipes pipes;
  auto terminal = job_->output.line_buffered ? open_output_terminal() : Result<PseudoTerminal>(Error{});
  auto out = terminal ? std::nullopt : open_pipe(), err = open_pipe();
  auto in = wants_input ? open_pipe() : std::nullopt;
  if ((!terminal && !out) || !err || (wants_input && !in)) {
    return sink_(proto::SpawnFailed{action.process, no_descriptors()});
  }
  if (terminal) {
    pipes.out = std::move(terminal->master);
    pipes.out_slave = std::move(terminal->slave);
    request.output = pipes.out_slave.get();
  } else {
    pipes.out = std::move(out->read_end);
    request.output = out->write_end.get();
  }
  request.error = err->write_end.get();
  pipes.err = std::move(err->read_end);
  if (in) {
    request.input = in->read_end.get();
    pipes.input = std::move(in->write_end);
    pipes.input_is_copy = job_->input.to_all;
    pipes.input_is_typed = job_->input.is_typed;
  }
  start(action.process, std::move(request), std::move(pipes));
}

void HostRuntime::spawn_on_terminal(std::uint32_t process, SpawnRequest request) {
  auto terminal = open_pseudo_terminal(*job_->terminal);
  if (!terminal) return sink_(proto::SpawnFailed{process, terminal.error()});
  request.input = request.output = request.error = terminal->slave.get();
  request.on_terminal = true;
  Program::Pipes pipes;
  pipes.input.reset(::fcntl(terminal->master.get(), F_DUPFD_CLOEXEC, 0));
  pipes.out = std::move(terminal->master);
  pipes.terminal = std::move(terminal->slave);
  start(process, std::move(request), std::move(pipes));
}

void HostRuntime::start(std::uint32_t process, SpawnRequest request, Program::Pipes pipes) {
  if (!cgroups_.empty()) request.cgroup = cgroups_.front().folder();
  using Pmi = wire::MpiService::Pmi;
  const Pmi service = job_->spawn.mpi.pmi;
  const bool inherits = service != Pmi::none && service != Pmi::port;
  auto pmi = inherits ? socket_pair() : std::nullopt;
  if (inherits && !pmi) return sink_(proto::SpawnFailed{process, no_descriptors()});
  if (pmi) {
    request.inherited = pmi->theirs.get();
    proto::overlay(request.environment, {fmt::format("PMI_FD={}", request.inherited)});
  } else if (service == Pmi::port) {
    const auto port = listener_.pmi_port();
    if (!port) return sink_(proto::SpawnFailed{process, port.error()});
    proto::overlay(request.environment, {fmt::format("PMI_PORT=127.0.0.1:{}", *port)});
  }
  if (proto::starts_on_demand(job_->spawn.mpi)) {
    const auto port = pmix_.offer([this] { execute(proto::StartPmix{}); });
    if (!port) return sink_(proto::SpawnFailed{process, port.error()});
    proto::overlay(request.environment, proto::pmix_server_address(*job_, *port));
  }
  auto pid = spawn(request);
  if (!pid) return sink_(proto::SpawnFailed{process, pid.error()});
  const auto sink = [this, number = *pid](proto::Event event) {
    if (auto* end = get_if<proto::ProcessExited>(&event)) return exited(std::move(*end), number);
    sink_(std::move(event));
  };
  if (pmi) listener_.take(std::move(pmi->ours), proto::ClientKind::pmi, process);
  auto program = std::make_shared<Program>(io_, watch_, sink, process, *pid, std::move(pipes));
  programs_[process] = program;
  if (request.held) held_.add(*pid);
  sink_(proto::Spawned{process, static_cast<std::uint32_t>(*pid)});
  const bool in_place = job_->loss.recovery == wire::Recovery::in_place;
  program->start(in_place ? ChildWatch::Group::fails : ChildWatch::Group::stays);
}

void HostRuntime::execute(const proto::StartPmix&) {
  UniqueFd helper = pmix_.start(file_of(process_host(), self_.first_process), environment_,
                                helper_folder(listener_.path()));
  if (!helper) return sink_(proto::SpawnFailed{self_.first_process, no_descriptors()});
  pmix_client_ = listener_.take(std::move(helper), proto::ClientKind::pmix, wire::kNoProcess);
}

void HostRuntime::execute(const proto::DescribeTopology&) {
  const std::string file = topology_file(listener_.path());
  if (!write_topology(file)) return sink_(proto::TopologyDescribed{});
  std::ifstream written(file, std::ios::binary);
  auto xml = std::make_shared<const std::string>(std::istreambuf_iterator<char>{written},
                                                 std::istreambuf_iterator<char>{});
  sink_(proto::TopologyDescribed{file, std::move(xml)});
}

void HostRuntime::execute(const stacks::ReadStacks& action) {
  const auto done = [this, number = action.number](stacks::Stacks stacks) {
    sink_(stacks::StacksRead{number, std::move(stacks)});
  };
  stacks_.read({present(), action.crashed ? autopsy_.cores() : Cores{}, action.raw}, action.within, done);
}

/// Processes that have been started and have not ended.
std::map<std::uint32_t, pid_t> HostRuntime::present() const {
  std::map<std::uint32_t, pid_t> pids;
  for (const auto& [process, program] : programs_) {
    if (watch_.watched(program->pid())) pids.emplace(process, program->pid());
  }
  return pids;
}

void HostRuntime::execute(const debug::Debug& action) {
  using What = debug::DebugOrder::What;
  const debug::DebugOrder& order = action.order;
  if (order.what == What::begin) {
    beside_.debuggers.erase(order.session);
    const auto say = [this](debug::DebugSaid said) { sink_(std::move(said)); };
    beside_.debuggers.try_emplace(order.session, io_, watch_, say).first->second.begin(order, present());
  } else if (const auto debugger = beside_.debuggers.find(order.session);
             debugger == beside_.debuggers.end()) {
    return;
  } else if (order.what == What::end) {
    beside_.debuggers.erase(debugger);
  } else {
    debugger->second.order(order);
  }
}

void HostRuntime::execute(const debug::RunTool& action) {
  using What = debug::ToolOrder::What;
  const debug::ToolOrder& order = action.order;
  if (order.what == What::begin) {
    std::vector<pid_t> pids;
    for (const std::uint32_t name : action.names) {
      if (const auto it = programs_.find(name); it != programs_.end()) pids.push_back(it->second->pid());
    }
    const std::uint32_t first = action.names.empty() ? order.which.front().first : action.names.front();
    beside_.tools.erase(order.session);
    beside_.tools.try_emplace(
        order.session, io_, watch_, [this](debug::ToolSpoke spoke) { sink_(std::move(spoke)); }, order, pids,
        directory_of(*job_, self_, first));
  } else if (order.what == What::end) {
    beside_.tools.erase(order.session);
  } else if (const auto tool = beside_.tools.find(order.session); tool != beside_.tools.end()) {
    tool->second.order(order);
  }
}

void HostRuntime::execute(const proto::AdoptProcess& action) {
  const bool found = adopt(action);
  const auto id = found ? static_cast<std::uint32_t>(programs_.at(action.process)->pid()) : 0;
  sink_(proto::ProcessAdopted{action.process, found, id});
}

/// Its parent's other children that have been adopted are not looked into again.
bool HostRuntime::adopt(const proto::AdoptProcess& action) {
  const auto parent = programs_.find(action.parent);
  const auto inode = listener_.inode_of(action.client);
  if (parent == programs_.end() || !inode) return false;
  std::set<pid_t> others;
  for (const auto& [process, program] : programs_) others.insert(program->pid());
  const auto pid = find_socket_holder(parent->second->pid(), *inode, others);
  if (!pid) return false;
  auto program = std::make_shared<Program>(io_, watch_, sink_, action.process, *pid, Program::Pipes{});
  if (!program->start_adopted()) return false;
  programs_[action.process] = std::move(program);
  return true;
}

void HostRuntime::exited(proto::ProcessExited event, pid_t pid) {
  if (event.signal != 0 && !killed_.contains(event.process))
    event.note =
        autopsy_
            .examine({event.process, pid, event.signal, event.core, directory_of(*job_, self_, event.process),
                      spawned_limits(job_->spawn.limits).core})
            .told;
  sink_(std::move(event));
}

void HostRuntime::execute(const proto::Signal& action) {
  listener_.flush();
  const auto it = programs_.find(action.process);
  if (it != programs_.end() && held_.keeps(it->second->pid(), action.signal)) return;
  if (action.signal == SIGKILL) killed_.insert(action.process);
  if (it != programs_.end()) it->second->signal(action.signal);
}

void HostRuntime::execute(const proto::KillLeftovers& action) {
  listener_.flush();
  awaits_files_ = false;
  setup_.cancel();
  examination_.cancel();
  beside_ = {};
  if (!job_) cgroups_ = JobCgroup::left(action.job, action.host);
  for (JobCgroup& cgroup : cgroups_) cgroup.kill();
  auto done = [this](std::uint32_t killed, bool all) {
    for (JobCgroup& cgroup : cgroups_) cgroup.remove();
    sink_(proto::LeftoversKilled{killed, all});
  };
  if (job_)
    return end_helper([this, done = std::move(done)]() mutable {
      leftovers_.kill_descendants(watch_.pids(), job_->repairs() ? Launchers::live : Launchers::end,
                                  std::move(done));
    });
  for (const std::string& folder : socket_folders()) {
    const std::string path = socket_path(folder, action.job, action.host);
    kill_listener(path);
    ::unlink(path.c_str());
    remove_beside(path);
  }
  leftovers_.kill_marked(job_mark(action.job, action.host), std::move(done));
}

/// Before what is left is looked for: it cleans up by itself.
void HostRuntime::end_helper(std::function<void()> done) {
  listener_.close(pmix_client_);
  pmix_.await_end(std::move(done));
}

void HostRuntime::execute(const proto::DrainOutput& action) {
  proto::OutputDrained answer{action.process};
  if (const auto it = programs_.find(action.process); it != programs_.end()) {
    it->second->drain_output();
    const auto inode = listener_.inode_of(action.client);
    const auto pid = inode ? find_socket_holder(it->second->pid(), *inode, {}) : std::nullopt;
    struct stat terminal {};
    if (pid && ::fstat(it->second->terminal(), &terminal) == 0) {
      answer.on_terminal = outputs_on(terminal.st_rdev, *pid);
    } else if (pid) {  // charm4py has moved its outputs to /dev/null, and writes to the former ones itself
      const auto dropped = outputs_on(makedev(kMemoryDevices, kNull), *pid);
      answer.copied = {!dropped[0], !dropped[1]};
    }
  }
  sink_(answer);
}

void HostRuntime::execute(const proto::LookForMpi& action) {
  const auto it = programs_.find(action.process);
  sink_(proto::MpiLoaded{action.process,
                         it == programs_.end() ? std::string{} : loaded_mpi(it->second->pid())});
}

void HostRuntime::execute(const proto::LookAtClient& action) {
  const auto sight = [&] {
    if (listener_.has_unread(action.client)) return proto::Sight::unread;
    const auto it = programs_.find(action.process);
    const auto inode = listener_.inode_of(action.client);
    if (it == programs_.end() || !inode) return proto::Sight::running;
    const auto pid = find_socket_holder(it->second->pid(), *inode, {});
    const char state = pid ? stat_of(*pid).state : ' ';
    return state == 'T' ? proto::Sight::stopped : state == 't' ? proto::Sight::traced : proto::Sight::running;
  };
  sink_(proto::ClientSeen{action.process, sight()});
}

void HostRuntime::execute(const input::ResizeTerminal& action) {
  const auto it = programs_.find(action.process);
  if (it != programs_.end()) set_window_size(it->second->terminal(), action.size);
}

void HostRuntime::execute(const proto::WriteInput& action) {
  const auto it = programs_.find(action.process);
  if (it != programs_.end()) it->second->write_input(action.bytes, action.end);
}

void HostRuntime::execute(const input::RecallPipe& action) {
  const auto it = programs_.find(action.process);
  sink_(input::InputRecalled{it == programs_.end() ? std::string{} : it->second->recall_input()});
}

void HostRuntime::execute(const proto::PauseOutput& action) {
  const auto it = programs_.find(action.process);
  if (it != programs_.end()) it->second->pause_reading(action.paused);
}

}  // namespace charmtree::io
