// SPDX-License-Identifier: Apache-2.0
// The process of a host's PMIx helper (tree/io/pmix/pmix_helper), as its launcher starts and ends it. It ends
// with its connection.
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
  PmixProcess(asio::io_context& io, ChildWatch& watch) : watch_(watch), timer_(io) {}

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
};

}  // namespace charmtree::io
