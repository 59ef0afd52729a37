// SPDX-License-Identifier: Apache-2.0
#include "tree/io/host_runtime.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include "tree/io/guardian.hpp"
#include "tree/io/program.hpp"
#include "tree/io/spawn.hpp"
#include "tree/proto/environment.hpp"

namespace charmtree::io {

namespace {

/// A pipe whose read end (ours) does not block; the program's end does, as programs expect.
bool output_pipe(UniqueFd& ours, UniqueFd& theirs) {
  std::array<int, 2> fds{};
  if (::pipe2(fds.data(), O_CLOEXEC) != 0) return false;
  ours.reset(fds[0]);
  theirs.reset(fds[1]);
  ::fcntl(fds[0], F_SETFL, O_NONBLOCK);
  return true;
}

}  // namespace

HostRuntime::HostRuntime(asio::io_context& io, ChildWatch& watch, Sink sink,
                         std::function<void(std::string)> note)
    : io_(io),
      watch_(watch),
      sink_(std::move(sink)),
      setup_(io, watch),
      listener_(io, {sink_, std::move(note)}),
      leftovers_(io) {}

HostRuntime::~HostRuntime() {
  for (auto& [process, program] : programs_) program->detach();
}

void HostRuntime::execute(const proto::Prepare& action) {
  job_ = action.job;
  self_ = action.self;
  ::umask(static_cast<mode_t>(job_->umask));
  auto folder = socket_folder();
  if (!folder) return sink_(proto::Prepared{0, folder.error(), false});
  socket_path_ = socket_path(*folder, job_->id, self_.index);
  leave_to_guardian(socket_path_);
  if (auto opened = listener_.open(socket_path_); !opened)
    return sink_(proto::Prepared{0, opened.error(), false});
  cgroup_ = JobCgroup::of(job_->id, self_.index);
  cgroup_.make();
  setup_.run(*job_, job_->profiles[self_.profile],
             [this](auto environment) { prepared(std::move(environment)); });
}

void HostRuntime::prepared(Result<std::vector<std::string>> environment) {
  if (!environment) return sink_(proto::Prepared{0, environment.error(), false});
  environment_ = std::move(*environment);
  // In the loop's next round: if hosts to start have arrived with our own orders, their logins come before
  // our processes.
  asio::post(io_, [this] { sink_(proto::Prepared{reachable_address(*job_, self_), {}, true}); });
}

std::vector<std::string> HostRuntime::environment_of(std::uint32_t process) const {
  std::vector<std::string> environment = environment_;
  proto::overlay(environment,
                 {fmt::format("NETSTART={} 127.0.0.1 {} {} 0", process, listener_.port(), job_->magic),
                  fmt::format("NETMAGIC={}", job_->magic), "CHARMTREE_JOB=" + job_mark(job_->id, self_.index),
                  fmt::format("CHARMTREE_PROCESS={}", process), "CHARMTREE_SOCKET=" + socket_path_});
  return environment;
}

std::vector<std::string> HostRuntime::command_of() const {
  const Profile& profile = job_->profiles[self_.profile];
  std::vector<std::string> command = job_->arguments;
  command.insert(command.end(), profile.extra_arguments.begin(), profile.extra_arguments.end());
  if (!job_->runscript.empty()) {
    command[0] = profile.program;
    command.insert(command.begin(), job_->runscript);
  }
  return command;
}

void HostRuntime::execute(const proto::Spawn& action) {
  const Profile& profile = job_->profiles[self_.profile];
  SpawnRequest request;
  request.arguments = command_of();
  request.program = job_->runscript.empty() ? profile.program : job_->runscript;
  request.environment = environment_of(action.process);
  request.directory = profile.directory;
  request.fixed_addresses = !job_->keep_address_randomisation;
  Program::Pipes pipes;
  UniqueFd out, err, input;
  bool opened = output_pipe(pipes.out, out) && output_pipe(pipes.err, err);
  if (opened && action.process == job_->input_process) {
    opened = output_pipe(input, pipes.input);
    ::fcntl(input.get(), F_SETFL, 0);  // the program reads this end, we write the other
    ::fcntl(pipes.input.get(), F_SETFL, O_NONBLOCK);
    request.input = input.get();
    pipes.input_back.reset(
        ::open(fmt::format("/proc/self/fd/{}", input.get()).c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  }
  if (!opened) {
    return sink_(proto::SpawnFailed{action.process,
                                    {Errc::spawn_failed, Phase::spawn,
                                     "out of file descriptors for its processes", "raise ulimit -n there"}});
  }
  request.cgroup = cgroup_.entry();
  request.output = out.get();
  request.error = err.get();
  auto pid = spawn(request);
  if (!pid) return sink_(proto::SpawnFailed{action.process, pid.error()});
  auto program = std::make_shared<Program>(io_, watch_, sink_, action.process, *pid, std::move(pipes));
  programs_[action.process] = program;
  sink_(proto::Spawned{action.process});
  program->start(paused_);
}

void HostRuntime::execute(const proto::Signal& action) {
  const auto it = programs_.find(action.process);
  if (it != programs_.end()) it->second->signal(action.signal);
}

void HostRuntime::execute(const proto::KillLeftovers& action) {
  setup_.cancel();
  if (!job_) cgroup_ = JobCgroup::of(action.job, action.host);
  cgroup_.kill();
  auto done = [this](std::uint32_t killed) {
    cgroup_.remove();
    sink_(proto::LeftoversKilled{killed});
  };
  if (job_) return leftovers_.kill_descendants(watch_.pids(), std::move(done));
  if (auto folder = socket_folder()) ::unlink(socket_path(*folder, action.job, action.host).c_str());
  leftovers_.kill_marked(job_mark(action.job, action.host), std::move(done));
}

void HostRuntime::execute(const proto::DrainOutput& action) {
  const auto it = programs_.find(action.process);
  if (it != programs_.end()) it->second->drain_output();
  sink_(proto::OutputDrained{action.process});
}

void HostRuntime::execute(const proto::WriteInput& action) {
  const auto it = programs_.find(action.process);
  if (it != programs_.end()) it->second->write_input(action.bytes, action.end);
}

void HostRuntime::execute(const proto::RecallPipe& action) {
  const auto it = programs_.find(action.process);
  sink_(proto::InputRecalled{it == programs_.end() ? std::string{} : it->second->recall_input()});
}

void HostRuntime::pause_reading(bool paused) {
  paused_ = paused;
  listener_.pause_reading(paused);
  for (auto& [process, program] : programs_) program->pause_reading(paused);
}

}  // namespace charmtree::io
