// SPDX-License-Identifier: Apache-2.0
// Files for the output of processes. A thread writes them, which may take as long as it likes. Each is
// emptied when it is first named, and its folders are made. A file that cannot be written any more is given
// up; the others go on.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "tree/base/time.hpp"
#include "tree/io/asio.hpp"
#include "tree/io/unique_fd.hpp"

namespace charmtree::io {

class OutputFiles {
public:
  /// Files that are open at a time; one that is needed again is opened again.
  static constexpr std::size_t kMostOpen = 256;

  struct Failure {
    std::string path;
    int error;  // an errno
  };

  /// From the event loop: `on_progress` after bytes were written, `on_failure` after a file was given up.
  /// Both must be callable until the destructor has returned.
  OutputFiles(asio::io_context& io, std::function<void()> on_progress, std::function<void()> on_failure);
  ~OutputFiles();

  /// Appends to the file at `path`. With no bytes: the file is there at least.
  void write(std::string path, std::string bytes);
  /// Calls `done` from the event loop when all that was to be written so far has been, or never will be.
  void confirm(std::function<void()> done);
  std::size_t backlog() const { return backlog_; }
  /// Blocks until all is written, `limit` at most; false if that was too short.
  bool drain(Duration limit);
  /// How many files have been given up, and the first of them.
  std::size_t failures() const { return failures_; }
  std::optional<Failure> first_failure() const;

private:
  struct Piece {
    std::string path, bytes;
    std::function<void()> done = {};
  };
  struct File {
    bool given_up = false;
    UniqueFd fd = {};  // empty: it is closed
    std::list<File*>::iterator place = {};
  };

  void run();
  void put(const Piece& piece);
  /// An errno; 0: the file is open.
  int open(const std::string& path, File& file, bool fresh);
  void give_up(const std::string& path, File& file, int error);

  asio::io_context& io_;
  std::function<void()> on_progress_, on_failure_;
  std::atomic<std::size_t> backlog_{0}, failures_{0};
  mutable std::mutex mutex_;
  std::optional<Failure> first_failure_;
  std::condition_variable wake_, drained_;
  std::deque<Piece> queue_;
  bool writing_ = false, stop_ = false;

  // The thread's own.
  std::map<std::string, File> files_;
  std::list<File*> open_;  // the one that was used last comes first
  std::thread thread_;
};

}  // namespace charmtree::io
