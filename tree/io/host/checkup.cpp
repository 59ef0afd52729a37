// SPDX-License-Identifier: Apache-2.0
#include "tree/io/host/checkup.hpp"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <csignal>
#include <fstream>
#include <utility>

#include "tree/base/join.hpp"
#include "tree/io/clock.hpp"
#include "tree/io/executable.hpp"
#include "tree/io/host/own_addresses.hpp"
#include "tree/io/host/python_imports.hpp"
#include "tree/io/spawn.hpp"
#include "tree/io/surroundings.hpp"
#include "tree/job/environment.hpp"
#include "tree/overlay/launch_failure.hpp"

namespace charmtree::io {

namespace {

constexpr std::size_t kMostListing = 256U << 10;
constexpr std::size_t kMostMachine = 64;

std::string machine() {
  std::string id;
  std::getline(std::ifstream{"/proc/sys/kernel/random/boot_id"}, id);
  return id.substr(0, kMostMachine);
}

/// Processes and threads of this user: the links of /proc/PID/task, its own two not counted.
std::uint64_t own_tasks() {
  std::uint64_t tasks = 0;
  DIR* folder = ::opendir("/proc");
  if (folder == nullptr) return 0;
  while (const dirent* entry = ::readdir(folder)) {
    if (std::isdigit(static_cast<unsigned char>(entry->d_name[0])) == 0) continue;
    struct stat info {};
    const std::string path = fmt::format("/proc/{}/task", static_cast<const char*>(entry->d_name));
    if (::stat(path.c_str(), &info) == 0 && info.st_uid == ::getuid() && info.st_nlink > 2)
      tasks += info.st_nlink - 2;
  }
  ::closedir(folder);
  return tasks;
}

wire::Checkup look_around(const wire::JobSpec& job, const Host& self) {
  wire::Checkup found;
  found.host = self.index;
  found.clock = now();
  found.wall_ms = wall_ms();
  if (const auto address = reachable_address(job, self)) found.address = *address;  // else the start says why
  found.machine = machine();
  const DescriptorLimit files = spawned_descriptor_limit();
  found.open_files = files.now;
  found.most_open_files = files.most;
  rlimit processes{};
  ::getrlimit(RLIMIT_NPROC, &processes);
  found.processes = ::geteuid() == 0 ? wire::Checkup::kUnlimited : processes.rlim_cur;  // binds users only
  found.processes_now = own_tasks();
  return found;
}

/// Every loader has --list, but that of glibc gives up there at the first library that is missing. Its
/// variable makes it go on; only glibc's is sure to know it, any other would start the program.
void ask_for_list(SpawnRequest& loader, const std::string& path) {
  const std::string name = loader.program.substr(loader.program.rfind('/') + 1);
  const bool glibc = name.starts_with("ld-linux") || name.starts_with("ld64.so") || name.starts_with("ld.so");
  loader.arguments = {loader.program, path};
  if (glibc)
    proto::overlay(loader.environment, {"LD_TRACE_LOADED_OBJECTS=1"});
  else
    loader.arguments.insert(loader.arguments.begin() + 1, "--list");
}

}  // namespace

void Examination::run(const wire::JobSpec& job, const Host& self, std::vector<std::string> environment,
                      Done done) {
  found_ = look_around(job, self);
  const Profile& profile = job.profiles[self.profile];
  environment_ = std::move(environment);
  directory_ = ::access(profile.directory.c_str(), X_OK) == 0 ? profile.directory : std::string{};
  if (!profile.program.empty()) {
    programs_.push_back(profile.program);
    program_.emplace();
    program_->program = profile.program;
    program_->arguments = job.arguments;
    program_->environment = environment_;
  }
  if (!job.spawn.runscript.empty()) programs_.push_back(job.spawn.runscript);
  limit_ = job.timeout;
  at_root_ = job.private_network;
  done_ = std::move(done);
  next_program();
}

void Examination::next_program() {
  while (!programs_.empty()) {
    SpawnRequest request;
    request.program = std::move(programs_.back());
    request.environment = environment_;
    request.at_root = at_root_;
    programs_.pop_back();
    const auto path = file_to_execute(request);
    if (!path)
      wrong(path.error());
    else if (list_libraries(*path))
      return;
  }
  if (look_for_imports()) return;
  std::exchange(done_, nullptr)(std::move(found_));
}

/// False: there is nothing to wait for.
bool Examination::list_libraries(const std::string& path) {
  SpawnRequest request;
  request.program = loader_of(path);
  if (request.program.empty()) return false;
  request.environment = environment_;
  ask_for_list(request, path);
  return ask(std::move(request), [this, path](const std::string& said, const proto::ProcessExited& end) {
    judge_libraries(path, said, end);
  });
}

void Examination::judge_libraries(const std::string& path, const std::string& said,
                                  const proto::ProcessExited& end) {
  const auto missing = proto::missing_libraries(said);
  const std::string where = "install it there, or set LD_LIBRARY_PATH in ~/.charmrunrc there; see ldd";
  if (!missing.empty()) {
    wrong({Errc::library_missing, Phase::start, fmt::format("{}: {} not found", path, join(missing, ", ")),
           where});
  } else if (late_) {
    wrong({Errc::timed_out, Phase::start,
           fmt::format("{}: its libraries were not found within {:g} s", path, seconds(limit_)),
           "is a file system in LD_LIBRARY_PATH slow there?"});
  } else if (end.code != 0 || end.signal != 0) {
    wrong({Errc::library_missing, Phase::start, fmt::format("{}: its loader cannot load it", path),
           fmt::format("see `ldd {}` there", path)});
  }
}

/// Of a program that can be started. False: there is nothing to wait for.
bool Examination::look_for_imports() {
  if (!program_ || !found_.errors.empty()) return false;
  const SpawnRequest program = std::move(*std::exchange(program_, std::nullopt));
  const auto file = file_to_execute(program);
  const auto search = file ? import_search(*file, program.arguments) : std::nullopt;
  if (!search) return false;
  SpawnRequest request;
  request.program = search->interpreter;
  request.arguments = search->arguments;
  request.environment = environment_;
  return ask(
      std::move(request), [this, search = *search](const std::string& said, const proto::ProcessExited&) {
        if (late_)
          wrong({Errc::timed_out, Phase::start,
                 fmt::format("{}: its modules were not found within {:g} s", search.subject, seconds(limit_)),
                 "is a file system in PYTHONPATH slow there?"});
        else if (auto failure = import_failure(search, said))
          wrong(std::move(*failure));
      });
}

/// False: it cannot be asked.
bool Examination::ask(SpawnRequest request, Judge judge) {
  request.directory = directory_;
  auto out = open_pipe(), err = open_pipe();
  if (!out || !err) return false;
  request.output = out->write_end.get();
  request.error = err->write_end.get();
  set_non_blocking(out->read_end.get());
  set_non_blocking(err->read_end.get());
  const auto pid = spawn(request);
  if (!pid) {
    wrong(pid.error());
    return false;
  }
  said_.clear();
  late_ = false;
  judge_ = std::move(judge);
  asked_ = std::make_shared<Program>(
      io_, watch_, [this](const proto::Event& event) { hear(event); }, 0, *pid,
      Program::Pipes{std::move(out->read_end), std::move(err->read_end), {}, {}});
  asked_->start();
  timer_.expires_after(limit_);
  timer_.async_wait([this](error_code ec) {
    if (ec || !asked_) return;
    late_ = true;
    asked_->signal(SIGKILL);
  });
  return true;
}

void Examination::hear(const proto::Event& event) {
  if (const auto* output = get_if<proto::ProcessOutput>(&event)) {
    if (said_.size() < kMostListing) said_ += output->bytes;
    return;
  }
  const auto* end = get_if<proto::ProcessExited>(&event);
  if (end == nullptr) return;
  timer_.cancel();
  const auto ended = std::exchange(asked_, nullptr);  // lives until we return
  std::exchange(judge_, nullptr)(said_, *end);
  next_program();
}

void Examination::wrong(Error error) {
  if (found_.errors.size() < wire::Checkup::kMaxErrors) found_.errors.push_back(std::move(error));
}

void Examination::cancel() {
  done_ = nullptr;
  programs_.clear();
  program_.reset();
  timer_.cancel();
  if (!asked_) return;
  asked_->signal(SIGKILL);
  asked_->detach();
  asked_.reset();
}

}  // namespace charmtree::io
