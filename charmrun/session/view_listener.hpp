// SPDX-License-Identifier: Apache-2.0
// Where `charmrun ++view` finds the root of a running job: an abstract unix-domain socket, as that of
// ++status (charmrun/session/status_listener.hpp). Whoever connects, if the same user, is shown what the
// job's own user is: what was last, and from then on all that comes, as far as ViewFeed lets it. Both ends
// check whose the other is.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "charmrun/session/view_feed.hpp"
#include "charmrun/session/view_message.hpp"
#include "tree/base/result.hpp"
#include "tree/io/asio.hpp"
#include "tree/io/link/fd_link.hpp"
#include "tree/io/listener.hpp"
#include "tree/turn/events.hpp"
#include "tree/wire/frame.hpp"
#include "tree/wire/process_set.hpp"

namespace charmtree {

class ViewListener {
public:
  /// Viewers at a time; others are told so.
  static constexpr std::size_t kMost = 1024;
  /// For the last words at the end, in all.
  static constexpr Duration kLastWords = 200ms;

  /// Called from the loop.
  struct Hooks {
    std::function<std::string()> status;       // as ++status has it
    std::function<std::uint32_t()> processes;  // of what runs
    std::function<void()> all_seen = {};       // called once, when each process has a viewer
  };
  ViewListener(io::asio::io_context& io, Hooks hooks);
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
    wire::FrameDecoder decoder{wire::kMaxClientFrame};
    std::optional<wire::ProcessSet> wanted = {};  // empty: all
    ViewFeed feed = {};

    bool wants(std::uint32_t process) const {
      return wanted && (wanted->empty() || wanted->contains(process));
    }
  };
  void admit(int fd);
  void hear(Number number, std::string_view bytes);
  void begin(Viewer& viewer, const ViewWanted& wanted);
  void see(const wire::ProcessSet& wanted);
  void gone(Number number);
  void tell_missed();
  void await_readers();

  io::asio::io_context& io_;
  Hooks hooks_;
  io::Listener listener_;
  io::asio::steady_timer timer_;
  bool awaits_readers_ = false;
  ViewBudget budget_;
  ViewHistory history_;
  Number last_ = 0;
  wire::ProcessSet seen_;
  std::map<Number, Viewer> viewers_;
};

}  // namespace charmtree
