// SPDX-License-Identifier: Apache-2.0
// The process of a host's PMIx helper (tree/io/pmix/pmix_helper), as its launcher starts and ends it: before
// the processes of a program that needs PMIx, else when the first of them connects to a socket that the
// launcher holds for the helper. It ends with its connection to the launcher.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tree/base/result.hpp"
#include "tree/io/asio.hpp"
#include "tree/io/child_watch.hpp"
#include "tree/io/unique_fd.hpp"

namespace charmtree::io {

/// The word behind `charmrun` by which it is started; the program and the folder follow.
inline constexpr std::string_view kPmixHelperWord = "++pmix-helper";

class PmixProcess {
public:
  PmixProcess(asio::io_context& io, ChildWatch& watch) : watch_(watch), timer_(io), held_(io) {}

  /// Returns the port of 127.0.0.1 at which processes find the helper, and opens it at the first call of a
  /// run. Calls `wanted` once, when the first process connects: start() then. Error spawn_failed.
  Result<std::uint16_t> offer(std::function<void()> wanted);

  /// For this program and its environment; `folder`, which is made, is for the helper alone. Our end of its
  /// connection, also if it could not be started: then that says why.
  UniqueFd start(const std::string& program, const std::vector<std::string>& environment,
                 const std::string& folder);
  /// Its connection has been closed: calls `done` once, when it has ended, by itself or not.
  void await_end(std::function<void()> done);

private:
  Result<UniqueFd> try_start(const std::string& program, const std::vector<std::string>& environment);
  void ended();

  ChildWatch& watch_;
  asio::steady_timer timer_;
  pid_t pid_ = 0;
  std::string folder_;
  std::function<void()> done_;
  asio::posix::stream_descriptor held_;  // the socket of offer(), until the helper has it
  std::uint16_t port_ = 0;               // of it; 0: not offered in this run
};

}  // namespace charmtree::io
