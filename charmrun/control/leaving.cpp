// SPDX-License-Identifier: Apache-2.0
#include "charmrun/control/leaving.hpp"

#include <fmt/format.h>

#include <csignal>
#include <cstring>

#include "charmrun/control/status_text.hpp"
#include "tree/base/exit_status.hpp"

namespace charmtree::control {

Leaving::Leaving(io::asio::io_context& io, TreeFile* tree) : io_(io), tree_(tree), timer_(io) {
  if (tree_ == nullptr) return;
  toucher_.emplace(1);
  stay();
}

Result<void> Leaving::by_order(const std::string& job) {
  if (tree_ == nullptr)
    return Error{Errc::refused, Phase::run, fmt::format("job {} ends with its charmrun", job),
                 "jobs outlive it that are started with ++keep-alive"};
  if (!is_possible())
    return Error{Errc::refused, Phase::run, fmt::format("job {} is not kept alive yet", job),
                 "it is when its charmrun says so, with all processes up"};
  leave();
  return {};
}

void Leaving::leave() {
  left_ = true;
  tree_->leave();
  io_.stop();
}

proto::Finish Leaving::finish() {
  return {status_of_signal(SIGHUP), SIGHUP, {proto::Cause::user_signal, {}, {}, strsignal(SIGHUP)}};
}

/// Not in the loop: a file server that hangs would make this root look lost.
void Leaving::stay() {
  const std::string path = tree_->own_path();
  if (!path.empty() && !touching_.exchange(true))
    io::asio::post(*toucher_, [this, path] {
      touch_tree(path);
      touching_ = false;
    });
  timer_.expires_after(kSeenEvery);
  timer_.async_wait([this](io::error_code stopped) {
    if (!stopped) stay();
  });
}

}  // namespace charmtree::control
