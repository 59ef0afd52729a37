// SPDX-License-Identifier: Apache-2.0
// Whether the readers of stdout and stderr are still there. A program that prints nothing for hours would
// otherwise outlive the ssh session or the CI job that started charmrun.
#pragma once

#include <functional>
#include <vector>

#include "tree/base/time.hpp"
#include "tree/io/asio.hpp"

namespace charmtree::io {

/// True if SIGHUP is ignored, as under nohup: the end of a reader is then not the user's wish to end the job.
bool ignores_hang_up();

class ReaderWatch {
public:
  /// A pipe must have been without a reader for so long: the reader of a named one may be replaced.
  static constexpr Duration kGone = 1s;

  /// Calls `on_gone` once, from the event loop, when one of these descriptors is a pipe or a socket that
  /// nothing can read any more. Other files are not watched. Closes none of them.
  ReaderWatch(asio::io_context& io, std::vector<int> descriptors, std::function<void()> on_gone);

private:
  bool any_gone() const;
  void wait();
  void look_again();

  // An epoll of the descriptors: Asio would make them non-blocking.
  asio::posix::stream_descriptor poller_;
  asio::steady_timer timer_;
  std::vector<int> watched_;
  std::function<void()> on_gone_;
};

}  // namespace charmtree::io
