// SPDX-License-Identifier: Apache-2.0
// Transports whose link is the stdin/stdout of a child process: a remote-shell command (ssh, rsh, a site
// script), or the launcher itself on this machine.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "tree/io/child_watch.hpp"
#include "tree/io/link/link.hpp"

namespace charmtree::io {

/// Via::command: `<profile.shell words> [-l user] <host> <command>`, or where a word is `%h`, the words with
/// the host in its place, and <command>; without words the ssh command in batch mode, with the host's port.
/// The link counts as up at once; whether a launcher answers is for the greeting to show.
class CommandTransport : public Transport {
public:
  /// Both must outlive the transport.
  CommandTransport(asio::io_context& io, ChildWatch& watch) : io_(io), watch_(watch) {}
  CommandTransport(const CommandTransport&) = delete;
  CommandTransport& operator=(const CommandTransport&) = delete;
  ~CommandTransport() override { finish(); }
  /// Waits for starters (commands with `%h`) whose links have been closed: one that loses us before it has
  /// seen its end leaves its resource manager waiting for it. 2 s at most.
  void finish();
  LoginId login(const Host& host, const Profile& profile, const std::string& command,
                const LoginLimits& limits, std::function<void(LoginResult)> done) override;
  void cancel(LoginId) override {}

  /// Returns true if a program of this name is called as OpenSSH's ssh.
  static bool is_ssh(const std::string& program);
  /// A word of the command is the place of the host: it starts what a resource manager owns.
  static bool is_starter(const Profile& profile);
  /// The words that login() runs; for messages and tests.
  static std::vector<std::string> words(const Host& host, const Profile& profile, const std::string& command,
                                        const LoginLimits& limits);

private:
  asio::io_context& io_;
  ChildWatch& watch_;
  LoginId last_ = 0;
  std::vector<pid_t> starters_;
};

/// Via::local: `<profile.launcher> ++launcher` as a child in its own session.
class LocalTransport : public Transport {
public:
  LocalTransport(asio::io_context& io, ChildWatch& watch) : io_(io), watch_(watch) {}
  /// Who knows that there will be a login starts its launcher meanwhile: the first login with this launcher
  /// takes it. One that is not taken ends with this object. What cannot be started is told by the login.
  void start_early(const std::string& launcher);
  LoginId login(const Host& host, const Profile& profile, const std::string& command,
                const LoginLimits& limits, std::function<void(LoginResult)> done) override;
  void cancel(LoginId) override {}

private:
  LoginResult start(const std::string& launcher);

  asio::io_context& io_;
  ChildWatch& watch_;
  LoginId last_ = 0;
  std::string early_launcher_;  // of early_
  LoginResult early_;           // not taken yet; without a link: none
};

}  // namespace charmtree::io
