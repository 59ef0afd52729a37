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
#include "tree/wire/messages.hpp"

namespace charmtree::io {

class HostSetup {
public:
  /// What ~/.charmrunrc and the setup command may print in all; the rest is cut off.
  static constexpr std::size_t kMaxEnvironment = 4U << 20;

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
  std::string text_, complaint_;
  std::vector<std::string> environment_;
  std::vector<std::string> last_;  // wins over what shells have made of it
  ChildStatus status_;
  Done done_;
};

/// IPv4 (host byte order) under which other hosts reach this one: what the remote shell says
/// (SSH_CONNECTION), else an interface that is up and not loopback; 127.0.0.1 if all hosts are this machine.
/// `self.address` wins if it is numeric and `self` is started locally or by a command (++mpiexec).
std::uint32_t reachable_address(const wire::JobSpec& job, const Host& self);

/// The IPv4 addresses (host byte order) of this machine's interfaces that are up, but for loopback; those
/// that belong to containers or virtual machines come last.
std::vector<std::uint32_t> own_addresses();

/// The IPv4 (host byte order) of this machine's interface that leads to the first of `hosts` (numeric, or
/// names that are resolved) that has an address; 0 if unknown. Waits 2 s at most. Sends nothing to them.
std::uint32_t address_towards(const std::vector<std::string>& hosts);

/// IPv4 (host byte order) of the first interface that is not loopback; of one that belongs to containers or
/// virtual machines only if there is no other. 0: there is none.
std::uint32_t interface_address();

/// True if the numeric address or interface `ipv4` (host byte order) is one of this machine's.
bool is_own_address(std::uint32_t ipv4);

}  // namespace charmtree::io
