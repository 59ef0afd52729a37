// SPDX-License-Identifier: Apache-2.0
// ~/.charmrunrc and the setup command are shell text that may set variables, so one bash runs both and writes
// the environment that results to a pipe of its own (setup_shell.hpp). What the text prints goes to stderr.
#include "tree/io/host/host_setup.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>
#include <string_view>

#include "tree/base/exit_status.hpp"
#include "tree/io/spawn.hpp"
#include "tree/io/surroundings.hpp"
#include "tree/job/environment.hpp"

namespace charmtree::io {

namespace {

constexpr std::size_t kComplaint = 400;

/// The pipe of the environment has a number that start-up files do not use for themselves.
constexpr int kLeastDescriptor = 20;

std::string rc_file() {
  const char* home = std::getenv("HOME");
  if (home == nullptr) return {};
  std::string path = std::string{home} + "/.charmrunrc";
  return ::access(path.c_str(), R_OK) == 0 ? path : std::string{};
}

/// Returns the last line; of a syntax error the line before it, since bash repeats the text after that.
std::string decisive_line(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  const std::size_t error = text.rfind("syntax error");
  const std::size_t begin = text.rfind('\n', error) + 1;  // npos + 1 is 0
  return std::string{text.substr(begin, text.find('\n', begin) - begin)};
}

/// Of a session's own environment what belongs to its login; all else comes with each run.
void leave_to_run(proto::Environment& environment) {
  const std::vector<std::string> all = proto::forwardable(environment);
  const std::set<std::string> gone{all.begin(), all.end()};
  std::erase_if(environment, [&](const std::string& entry) { return gone.contains(entry); });
}

}  // namespace

void HostSetup::run(const wire::JobSpec& job, const Profile& profile, Done done) {
  done_ = std::move(done);
  last_ = profile.environment;
  const bool remote = profile.via != Via::local;
  // A local launcher is a child of the root's, directly or not: its environment is that of charmrun's caller.
  environment_ = proto::without_launcher_variables(own_environment());
  if (!remote && job.session && !job.spawn.environment.empty()) leave_to_run(environment_);
  if (remote || job.session)
    proto::overlay(environment_, proto::without_launcher_variables(job.spawn.environment));
  std::error_code not_made;
  if (job.spawn.make_directory && !profile.directory.empty())
    std::filesystem::create_directories(profile.directory, not_made);
  const UniqueFd folder{
      profile.directory.empty() ? -1 : ::open(profile.directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
  if (!profile.directory.empty() && !folder) {
    return finish(Error{Errc::no_directory, Phase::spawn,
                        fmt::format("working directory {}: {}", profile.directory,
                                    not_made ? not_made.message() : strerror(errno)),
                        "++make-wdir makes it there, ++wdir or pathfix in the nodelist names another one"});
  }
  if (profile.setup.empty() && (!remote || rc_file().empty())) return finish(std::move(environment_));
  run_shell(profile, remote, job);
}

void HostSetup::run_shell(const Profile& profile, bool remote, const wire::JobSpec& job) {
  auto out = open_pipe(), err = open_pipe();
  if (!out || !err) {
    return finish(Error{Errc::spawn_failed, Phase::spawn,
                        fmt::format("cannot create a pipe: {}", strerror(errno)), "raise ulimit -n there"});
  }
  for (const Pipe* pipe : {&*out, &*err}) set_non_blocking(pipe->read_end.get());
  output_.assign(out->read_end.release());
  error_.assign(err->read_end.release());
  if (const int high = ::fcntl(out->write_end.get(), F_DUPFD_CLOEXEC, kLeastDescriptor); high >= 0)
    out->write_end.reset(high);

  const int channel = out->write_end.get();
  SpawnRequest request;
  request.program = "bash";
  // Below sshd it would read ~/.bashrc again, as the login has done, over what was forwarded.
  request.arguments = {"bash", "--norc", "-c",
                       setup_script(remote && !rc_file().empty(), profile.setup, channel)};
  request.environment = setup_environment(environment_);
  request.directory = profile.directory;
  request.output = request.error = err->write_end.get();
  request.inherited = channel;
  auto pid = spawn(request);
  if (!pid) return finish(pid.error());
  shell_ = *pid;
  watch_.add(shell_, [this](ChildStatus status) { shell_ended(status); });
  read_output();
  read_error();
  timer_.expires_after(job.timeout);
  timer_.async_wait([this](error_code ec) {
    if (ec || !done_) return;
    cancel_shell();
    finish(Error{Errc::spawn_failed, Phase::spawn, text_.part() + " did not end in time", "see ++timeout"});
  });
}

void HostSetup::read_output() {
  output_.async_wait(asio::posix::stream_descriptor::wait_read, [this](error_code ec) {
    if (!ec && done_ && take_output()) read_output();
  });
}

/// Reads the pipe empty; false at its end.
bool HostSetup::take_output() {
  std::array<char, 16384> buffer;
  ssize_t got = 0;
  while ((got = ::read(output_.native_handle(), buffer.data(), buffer.size())) > 0) {
    text_.append({buffer.data(), static_cast<std::size_t>(got)});
  }
  return got < 0 && (errno == EAGAIN || errno == EINTR);
}

void HostSetup::read_error() {
  error_.async_wait(asio::posix::stream_descriptor::wait_read, [this](error_code ec) {
    if (!ec && done_ && take_complaint()) read_error();
  });
}

bool HostSetup::take_complaint() {
  std::array<char, 4096> buffer;
  const ssize_t got = ::read(error_.native_handle(), buffer.data(), buffer.size());
  if (got > 0) complaint_.append(buffer.data(), static_cast<std::size_t>(got));
  if (complaint_.size() > kComplaint) complaint_.erase(0, complaint_.size() - kComplaint);
  return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

void HostSetup::shell_ended(ChildStatus status) {
  shell_ = 0;
  status_ = status;
  if (!done_) return;
  // To the last byte, not to the end: what the shell left running may hold the pipes.
  take_output();
  take_complaint();
  shell_result();
}

void HostSetup::shell_result() {
  if (status_.code == 0 && status_.signal == 0) {
    const auto environment = text_.environment();
    if (!environment) return finish(text_.no_environment());
    return finish(proto::without_launcher_variables(*environment));
  }
  const std::string line = decisive_line(complaint_);
  finish(Error{Errc::spawn_failed, Phase::spawn,
               fmt::format("{} failed with status {}{}{}", text_.part(),
                           status_.signal != 0 ? status_of_signal(status_.signal) : status_.code,
                           line.empty() ? "" : ": ", line),
               "run it there by hand"});
}

void HostSetup::cancel_shell() {
  if (shell_ == 0) return;
  watch_.signal_group(shell_, SIGKILL);
  watch_.forget(shell_);
  shell_ = 0;
}

void HostSetup::cancel() {
  done_ = nullptr;
  cancel_shell();
  timer_.cancel();
}

void HostSetup::finish(Result<std::vector<std::string>> result) {
  timer_.cancel();
  error_code ignored;
  output_.close(ignored);
  if (result) proto::overlay(*result, proto::without_launcher_variables(last_));
  if (done_) std::exchange(done_, nullptr)(std::move(result));
}

}  // namespace charmtree::io
