// SPDX-License-Identifier: Apache-2.0
// How a charmrun leaves its job to itself (++keep-alive): with its terminal, or by ++detach. While it is
// there, it touches the file of the job, so that ++list knows when it was lost.
#pragma once

#include <atomic>
#include <optional>
#include <string>

#include "charmrun/plan/tree_file.hpp"
#include "tree/base/result.hpp"
#include "tree/io/asio.hpp"
#include "tree/turn/events.hpp"

namespace charmtree::control {

class Leaving {
public:
  /// `tree`: null if the job ends with its root; else it outlives this.
  Leaving(io::asio::io_context& io, TreeFile* tree);
  Leaving(const Leaving&) = delete;
  Leaving& operator=(const Leaving&) = delete;

  /// Another root could take the job over.
  bool is_possible() const { return tree_ != nullptr && tree_->is_kept(); }
  /// Error refused, if that is not possible.
  Result<void> by_order(const std::string& job);
  /// Stops the loop.
  void leave();
  bool has_left() const { return left_; }
  /// How the root ends then: by the signal that a lost terminal sends.
  static proto::Finish finish();

private:
  void stay();

  io::asio::io_context& io_;
  TreeFile* tree_;
  io::asio::steady_timer timer_;
  bool left_ = false;
  std::atomic<bool> touching_ = false;
  std::optional<io::asio::thread_pool> toucher_;  // waits for its last touch at the end
};

}  // namespace charmtree::control
