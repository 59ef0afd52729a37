// SPDX-License-Identifier: Apache-2.0
// The mpiexec of a job, or what takes its place, as a child process; and the script that it runs on all
// hosts.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "tree/base/result.hpp"
#include "tree/base/time.hpp"
#include "tree/io/asio.hpp"
#include "tree/io/child_watch.hpp"
#include "tree/io/unique_fd.hpp"

namespace charmtree::io {

/// A file that only its owner can read and run; it goes with the object.
class PrivateScript {
public:
  PrivateScript() = default;
  PrivateScript(const PrivateScript&) = delete;
  PrivateScript& operator=(const PrivateScript&) = delete;
  ~PrivateScript() { remove(); }

  /// Writes it, mode 0700, where no file may be yet. Error bad_input (phase options).
  Result<void> write(const std::string& path, const std::string& text);
  void remove();

private:
  std::string path_;
};

class MpiexecCommand {
public:
  /// After the job: how long it may take to end by itself, and once more after SIGTERM.
  static constexpr Duration kGrace = 5s;
  /// Of a line that it prints, bytes; more is cut.
  static constexpr std::size_t kMostLine = 1000;

  /// Called from the event loop. `line`: what it prints, on whichever of its streams. `ended`, once: how
  /// ("exited with status 1"), and the last line.
  struct Sink {
    std::function<void(const std::string& line)> line;
    std::function<void(const std::string& how, const std::string& last)> ended;
  };
  /// `watch` must outlive the object.
  MpiexecCommand(asio::io_context& io, ChildWatch& watch, Sink sink);
  /// Kills it, should it still run.
  ~MpiexecCommand();

  /// Starts it with nothing to read. Error remote_shell (phase exec).
  Result<void> start(const std::vector<std::string>& words);
  bool running() const { return pid_ != 0; }
  /// Runs the event loop until it has ended; `patient`: it is given kGrace to do so by itself.
  enum class Patience { yes, no };
  void finish(Patience patience);

private:
  void read();
  bool take();
  void tell_lines();
  void ended(ChildStatus status);

  asio::io_context& io_;
  ChildWatch& watch_;
  Sink sink_;
  asio::posix::stream_descriptor output_;
  pid_t pid_ = 0;
  std::string text_, last_;
};

}  // namespace charmtree::io
