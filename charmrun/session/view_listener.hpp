// SPDX-License-Identifier: Apache-2.0
// Where `charmrun ++view` finds the root of a running job: an abstract unix-domain socket, as that of
// ++status (charmrun/session/status_listener.hpp). Whoever connects, if the same user, is shown what the
// job's own user is: what was last, and from then on all that comes, as far as ViewFeed lets it. Both ends
// check whose the other is.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "charmrun/session/view_feed.hpp"
#include "charmrun/session/view_message.hpp"
#include "tree/base/result.hpp"
#include "tree/io/asio.hpp"
#include "tree/io/link/fd_link.hpp"
#include "tree/io/listener.hpp"
#include "tree/turn/events.hpp"

namespace charmtree {

class ViewListener {
public:
  /// Viewers at a time; others are told so.
  static constexpr std::size_t kMost = 1024;
  /// For the last words at the end, in all.
  static constexpr Duration kLastWords = 200ms;

  /// `status` (as ++status has it) is called from the loop.
  ViewListener(io::asio::io_context& io, std::function<std::string()> status);
  ViewListener(const ViewListener&) = delete;
  ViewListener& operator=(const ViewListener&) = delete;
  ~ViewListener();

  /// Error spawn_failed. A job can do without.
  Result<void> open(const std::string& job);
  void show(const proto::Show& action);
  void say(proto::Tone tone, const std::string& line);
  /// The job is over. Runs the loop, kLastWords at most.
  void finish(const proto::Finish& result);

private:
  using Number = std::uint64_t;
  struct Viewer {
    std::shared_ptr<io::FdLink> link;
    ViewFeed feed = {};
  };
  void admit(int fd);
  void gone(Number number);
  void tell_missed();
  void await_readers();

  io::asio::io_context& io_;
  std::function<std::string()> status_;
  io::Listener listener_;
  io::asio::steady_timer timer_;
  bool awaits_readers_ = false;
  ViewBudget budget_;
  ViewHistory history_;
  Number last_ = 0;
  std::map<Number, Viewer> viewers_;
};

}  // namespace charmtree
