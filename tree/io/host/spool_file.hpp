// SPDX-License-Identifier: Apache-2.0
// An unlinked file in $TMPDIR, or /tmp, for output that does not fit into a launcher's memory (proto::Spool).
// A thread reads and writes it, one after the other: a slow disk holds up nobody. Both are made when they are
// first needed.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "tree/io/asio.hpp"
#include "tree/io/unique_fd.hpp"
#include "tree/turn/events.hpp"

namespace charmtree::io {

class SpoolFile {
public:
  using Sink = std::function<void(proto::Event)>;
  /// `sink` takes Spooled and Unspooled events, from the event loop.
  SpoolFile(asio::io_context& io, Sink sink) : io_(io), sink_(std::move(sink)) {}
  /// Waits for what the thread is doing.
  ~SpoolFile();

  void execute(const proto::SpoolWrite& action);
  void execute(const proto::SpoolRead& action);

private:
  template <class Work>
  void run(Work work);
  // The thread's.
  proto::Spooled write(const proto::SpoolWrite& action);
  proto::Unspooled read(const proto::SpoolRead& action);

  asio::io_context& io_;
  Sink sink_;
  std::unique_ptr<asio::thread_pool> thread_;
  std::string folder_;  // the thread's, as is the file
  UniqueFd file_;
};

}  // namespace charmtree::io
