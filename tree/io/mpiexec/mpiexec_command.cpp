// SPDX-License-Identifier: Apache-2.0
#include "tree/io/mpiexec/mpiexec_command.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>

#include "tree/io/spawn.hpp"
#include "tree/io/surroundings.hpp"

namespace charmtree::io {

Result<void> PrivateScript::write(const std::string& path, const std::string& text) {
  const UniqueFd file{::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0700)};
  if (file) path_ = path;
  if (!file || ::fchmod(file.get(), 0700) != 0 ||  // whatever the umask is
      ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return Error{Errc::bad_input, Phase::options,
                 fmt::format("cannot write {}, which is to be run on the hosts: {}", path, strerror(errno)),
                 "start charmrun in a directory that you can write to and all hosts share"};
  }
  return {};
}

void PrivateScript::remove() {
  if (!path_.empty()) ::unlink(std::exchange(path_, {}).c_str());
}

MpiexecCommand::MpiexecCommand(asio::io_context& io, ChildWatch& watch, Sink sink)
    : io_(io), watch_(watch), sink_(std::move(sink)), output_(io) {}

MpiexecCommand::~MpiexecCommand() {
  if (pid_ == 0) return;
  watch_.signal_group(pid_, SIGKILL);
  watch_.forget(pid_);
}

Result<void> MpiexecCommand::start(const std::vector<std::string>& words) {
  auto pipe = open_pipe();
  if (!pipe) return Error{Errc::remote_shell, Phase::exec, "out of file descriptors", "raise ulimit -n"};
  SpawnRequest request;
  request.program = words[0];
  request.arguments = words;
  request.environment = own_environment();
  request.output = request.error = pipe->write_end.get();
  auto pid = spawn(request);
  if (!pid) {
    return Error{Errc::remote_shell, Phase::exec, pid.error().what,
                 "install it here, or name a command that takes its place by ++remote-shell"};
  }
  pid_ = *pid;
  watch_.add(pid_, [this](ChildStatus status) { ended(status); });
  set_non_blocking(pipe->read_end.get());
  output_.assign(pipe->read_end.release());
  read();
  return {};
}

void MpiexecCommand::read() {
  output_.async_wait(asio::posix::stream_descriptor::wait_read, [this](error_code ec) {
    if (!ec && take()) read();
  });
}

/// Reads the pipe empty; false at its end.
bool MpiexecCommand::take() {
  std::array<char, 4096> buffer;
  ssize_t got = 0;
  while ((got = ::read(output_.native_handle(), buffer.data(), buffer.size())) > 0) {
    text_.append(buffer.data(), static_cast<std::size_t>(got));
    tell_lines();
  }
  return got < 0 && (errno == EAGAIN || errno == EINTR);
}

/// All but the last, which may go on; of that no more is kept than is shown.
void MpiexecCommand::tell_lines() {
  for (std::size_t end = 0; (end = text_.find('\n')) != std::string::npos; text_.erase(0, end + 1)) {
    std::string line = text_.substr(0, std::min(end, kMostLine));
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    sink_.line(line);
    last_ = std::move(line);
  }
  if (text_.size() > kMostLine) text_.resize(kMostLine);
}

void MpiexecCommand::ended(ChildStatus status) {
  pid_ = 0;
  take();  // to the last byte, not to the end: what it left running may hold the pipe
  if (!text_.empty()) {
    text_ += '\n';
    tell_lines();
  }
  error_code ignored;
  output_.close(ignored);
  sink_.ended(status.signal != 0 ? fmt::format("was killed by signal {}", status.signal)
                                 : fmt::format("exited with status {}", status.code),
              last_);
}

void MpiexecCommand::finish(Patience patience) {
  asio::steady_timer timer{io_};
  for (const int signal : {0, SIGTERM, SIGKILL}) {
    if (signal == 0 && patience == Patience::no) continue;
    if (signal != 0 && running()) watch_.signal_group(pid_, signal);
    bool over = false;
    timer.expires_after(kGrace);
    timer.async_wait([&over](error_code ec) { over = !ec; });
    io_.restart();
    while (running() && !over && io_.run_one() > 0) continue;
    timer.cancel();
    io_.restart();
    io_.poll();  // the timer's handler knows `over`
  }
}

}  // namespace charmtree::io
