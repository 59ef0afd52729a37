// SPDX-License-Identifier: Apache-2.0
// How a launcher finds out what its processes do: by a helper, started for that alone
// (tree/io/stacks/stack_helper).
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "stacks/messages.hpp"
#include "tree/base/result.hpp"
#include "tree/io/asio.hpp"
#include "tree/io/child_watch.hpp"
#include "tree/io/core_file.hpp"

namespace charmtree::io {

/// The words behind `charmrun` by which the helper is started.
inline constexpr std::string_view kStackHelperWord = "++stack-helper", kRawFrames = "raw",
                                  kFoldedFrames = "folded";

class StackReader {
public:
  using Done = std::function<void(stacks::Stacks)>;
  struct Question {
    std::map<std::uint32_t, pid_t> pids;  // by process
    Cores cores;                          // of others
    bool raw = false;                     // with all frames
  };

  StackReader(asio::io_context& io, ChildWatch& watch) : watch_(watch), pipe_(io), timer_(io) {}

  /// Calls `done` once, within that time, if no other reading begins before. Those of whom nothing is found
  /// out are in it, and why.
  void read(Question question, Duration within, Done done);

private:
  Result<void> start();
  void hear();
  void end(std::string_view failure);

  ChildWatch& watch_;
  asio::posix::stream_descriptor pipe_;
  asio::steady_timer timer_;
  Question question_;
  Done done_;
  pid_t helper_ = 0;
  std::string heard_;
  std::array<char, 16U << 10> piece_{};
};

}  // namespace charmtree::io
