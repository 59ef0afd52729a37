// SPDX-License-Identifier: Apache-2.0
// Making a host ready for the processes of a job: the working directory, the environment (login, forwarded,
// ~/.charmrunrc, setup command, nodelist, ++env), and the address under which other hosts reach this one.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tree/base/result.hpp"
#include "tree/io/asio.hpp"
#include "tree/io/child_watch.hpp"
#include "tree/io/host/setup_shell.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree::io {

class HostSetup {
public:
  HostSetup(asio::io_context& io, ChildWatch& watch) : watch_(watch), output_(io), error_(io), timer_(io) {}

  /// Calls `done` once, from the event loop (or at once if there is nothing to wait for), with the
  /// environment for the job's processes without the variables of the single process. Errors: no_directory,
  /// spawn_failed (Phase::spawn).
  using Done = std::function<void(Result<std::vector<std::string>>)>;
  void run(const wire::JobSpec& job, const Profile& profile, Done done);
  /// Gives up: `done` is not called any more, what was started is killed.
  void cancel();

private:
  void run_shell(const Profile& profile, bool remote, const wire::JobSpec& job);
  void read_output();
  bool take_output();
  bool take_complaint();
  void read_error();
  void shell_ended(ChildStatus status);
  void shell_result();
  void cancel_shell();
  void finish(Result<std::vector<std::string>> result);

  ChildWatch& watch_;
  asio::posix::stream_descriptor output_, error_;
  asio::steady_timer timer_;
  pid_t shell_ = 0;
  SetupText text_;
  std::string complaint_;
  std::vector<std::string> environment_;
  std::vector<std::string> last_;  // wins over what shells have made of it
  ChildStatus status_;
  Done done_;
};

}  // namespace charmtree::io
