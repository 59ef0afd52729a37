// SPDX-License-Identifier: Apache-2.0
// ++dashboard: the page that shows the job, and its answers. A page asks for what is newer than the version
// that it knows, and waits until there is something: who does not ask costs nothing.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "charmrun/view/dashboard.hpp"
#include "tree/base/result.hpp"
#include "tree/io/asio.hpp"
#include "tree/io/http_listener.hpp"

namespace charmtree {

class DashboardListener {
public:
  /// Between two answers to one page, and the longest that it waits for one without news.
  static constexpr Duration kPause = 200ms, kBeat = 5s;
  /// At the end pages that are about to ask again are waited for so long.
  static constexpr Duration kFarewell = 500ms;

  /// `status` is asked from the loop; `note` is told of refused connections.
  DashboardListener(io::asio::io_context& io, Dashboard dashboard, std::function<proto::JobStatus()> status,
                    std::function<void(std::string)> note);

  /// Where the page is, its token behind the #, which no browser sends. Error spawn_failed.
  Result<std::string> open();
  /// Changes what is shown.
  template <class Change>
  void tell(Change change) {
    change(dashboard_);
    arm();
  }
  /// The last change: every page is told, and nobody asks any more. Runs the loop, kFarewell at most.
  void finish();

private:
  void asked(io::HttpListener::Ticket page, const std::string& target);
  void arm();
  void answer(bool all);
  void await_beat();

  io::asio::io_context& io_;
  Dashboard dashboard_;
  std::function<proto::JobStatus()> status_;
  io::asio::steady_timer pause_, beat_;
  bool armed_ = false;
  std::map<io::HttpListener::Ticket, Dashboard::Version> waiting_;  // pages, and what they know
  io::HttpListener listener_;
};

}  // namespace charmtree
