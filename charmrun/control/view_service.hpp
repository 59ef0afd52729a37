// SPDX-License-Identifier: Apache-2.0
// The service `view` (++view): a client gets what the job's own user is shown, first the most recent, from
// then on all that comes, as far as ViewFeed admits.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "charmrun/control/listener.hpp"
#include "charmrun/control/view_feed.hpp"
#include "charmrun/control/view_message.hpp"
#include "tree/io/asio.hpp"
#include "tree/turn/events.hpp"
#include "tree/wire/process_set.hpp"

namespace charmtree::control {

class ViewService {
public:
  /// Viewers at a time.
  static constexpr std::size_t kMaxViewers = 1024;

  /// Called from the loop.
  struct Hooks {
    std::function<std::string()> status;       // see status_json
    std::function<std::uint32_t()> processes;  // number of those that run
    std::function<void()> all_seen = {};       // called once, when each process has a viewer
  };
  /// Adds the service to the listener, whose loop does not run after the end of this object.
  ViewService(io::asio::io_context& io, Listener& listener, Hooks hooks);
  ViewService(const ViewService&) = delete;
  ViewService& operator=(const ViewService&) = delete;

  void show(const proto::Show& action);
  void say(proto::Tone tone, const std::string& line);
  /// Sends all viewers the end of the job.
  void finish(const proto::Finish& result);

private:
  struct Viewer {
    std::optional<wire::ProcessSet> wanted = {};  // empty: all
    ViewFeed feed = {};

    bool wants(std::uint32_t process) const {
      return wanted && (wanted->empty() || wanted->contains(process));
    }
  };
  bool receive(ClientId client, const wire::Frame& frame);
  void send(ClientId client, const ViewMessage& message);
  void begin(ClientId client, const ViewRequest& request);
  void see(const wire::ProcessSet& wanted);
  bool is_any_behind() const;
  void notify_missed();
  void await_readers();

  Listener& listener_;
  Hooks hooks_;
  io::asio::steady_timer timer_;
  bool awaits_readers_ = false;
  ViewBudget budget_;
  ViewHistory history_;
  wire::ProcessSet seen_;
  std::map<ClientId, Viewer> viewers_;
};

}  // namespace charmtree::control
