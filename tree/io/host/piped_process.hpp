// SPDX-License-Identifier: Apache-2.0
// A program that a launcher runs beside the processes of its host, and talks with: debuggers and other tools.
// It ends with the launcher at the latest.
#pragma once

#include <sys/types.h>

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "tree/base/result.hpp"
#include "tree/base/time.hpp"
#include "tree/io/asio.hpp"
#include "tree/io/child_watch.hpp"
#include "tree/io/spawn.hpp"

namespace charmtree::io {

/// Held by shared_ptr: what has been started is watched until it has ended, though its owner has left.
class PipedProcess : public std::enable_shared_from_this<PipedProcess> {
public:
  /// How long who has left waits for it to end by itself; and what a pipe holds that others keep open may
  /// take when it has ended.
  static constexpr Duration kPatience = 10s, kAfterEnd = 500ms;

  /// Called from the loop. `error` and `took` may be null: its stderr goes nowhere then.
  struct Hooks {
    std::function<void(std::string_view bytes)> output, error;
    std::function<void(std::size_t bytes)> took;  // of what has been written
    std::function<void(ChildStatus)> ended;       // after all else
  };
  PipedProcess(asio::io_context& io, ChildWatch& watch, Hooks hooks);

  /// Once. Its descriptors are made here; without `has_input` nothing comes from its stdin.
  Result<void> start(SpawnRequest request, bool has_input);
  /// What comes after the end of its input, or of itself, is dropped.
  void write(std::string bytes);
  /// When all that was written before has been taken.
  void end_input();
  /// What it says is left in its pipes.
  void pause(bool paused);
  /// Nobody hears it any more: its input ends; without one, or after `term`, it gets SIGTERM, and SIGKILL
  /// when that has not helped. What others keep open of its pipes is closed when it has ended.
  void leave(Duration term = kPatience);

private:
  struct Source {
    explicit Source(asio::io_context& io) : pipe(io) {}
    asio::posix::stream_descriptor pipe;
    std::array<char, 64U << 10> piece{};
    bool is_reading = false;
  };
  void read(Source& source, std::function<void(std::string_view)> Hooks::*hook);
  void read_all();
  void flush();
  void exited(ChildStatus status);
  void settle();
  void look_again();
  void close_outputs();
  void signal_after(Duration wait, int signal);

  asio::io_context& io_;
  ChildWatch& watch_;
  Hooks hooks_;
  asio::posix::stream_descriptor input_;
  Source output_, error_;
  asio::steady_timer timer_;
  pid_t pid_ = 0;  // 0: it has ended
  ChildStatus status_{};
  std::string to_write_, writing_;
  bool has_started_ = false, is_writing_ = false, ends_input_ = false, is_paused_ = false, has_read_ = false,
       has_left_ = false;
};

}  // namespace charmtree::io
