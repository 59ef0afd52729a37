// SPDX-License-Identifier: Apache-2.0
// The user's stdin, stdout and stderr. Their open file descriptions are shared with the shell that started
// us, so O_NONBLOCK is never set on them. Writing is done by a thread per stream, which may block as long as
// it likes; reading only when asked and only what is there.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "tree/base/time.hpp"
#include "tree/io/asio.hpp"

namespace charmtree::io {

class OutputWriter {
public:
  /// With no more than this waiting there is room for more.
  static constexpr std::size_t kLow = 512U << 10;
  /// `on_progress` is called from the event loop when kLow or nothing is left to be written; `on_broken` once
  /// if nobody reads any more or writing fails (see failure()). Both must be callable until the destructor
  /// has returned.
  OutputWriter(asio::io_context& io, int fd, std::function<void()> on_progress,
               std::function<void()> on_broken);
  ~OutputWriter();

  void write(std::string bytes);
  /// Calls `done` from the event loop when all that was to be written so far has been, or never will be.
  void confirm(std::function<void()> done);
  std::size_t backlog() const { return backlog_; }
  /// Blocks until all is written or nobody reads any more, `limit` at most; false if that was too short.
  bool drain(Duration limit);
  /// Why nothing can be written any more, an errno; 0 if all is well.
  int failure() const { return failure_; }

private:
  void run();

  asio::io_context& io_;
  int fd_;
  std::function<void()> on_progress_, on_broken_;
  std::atomic<std::size_t> backlog_{0};
  std::atomic<int> failure_{0};
  std::mutex mutex_;
  std::condition_variable wake_, drained_;
  struct Piece {
    std::string bytes;
    std::function<void()> done = {};
  };
  std::deque<Piece> queue_;
  bool writing_ = false, stop_ = false, broken_ = false;
  std::thread thread_;
};

/// Both descriptors lead to the same terminal, file or pipe.
bool same_file(int one, int other);

class InputReader {
public:
  /// `sink` gets what was read and whether that was the end, from the event loop.
  InputReader(asio::io_context& io, int fd, std::function<void(std::string, bool)> sink);
  /// Reads once, at most `bytes`. A terminal is read only while we are in its foreground.
  void read(std::size_t bytes);

private:
  static constexpr auto kForegroundLook = std::chrono::milliseconds{200};
  bool in_background() const;
  void read_in_foreground(std::size_t bytes);
  void read_now(std::size_t bytes);

  asio::io_context& io_;
  // An epoll of the descriptor, which Asio, who makes descriptors non-blocking, does not get.
  asio::posix::stream_descriptor poller_;
  asio::steady_timer timer_;
  int fd_;
  bool pollable_ = false;
  std::function<void(std::string, bool)> sink_;
};

}  // namespace charmtree::io
