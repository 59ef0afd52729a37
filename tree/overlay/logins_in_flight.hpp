// SPDX-License-Identifier: Apache-2.0
// The logins that are under way: how many there may be at once (login_window), since when each of them is,
// and which have been silent for too long. Knows them by their links only.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <vector>

#include "tree/base/error.hpp"
#include "tree/base/time.hpp"
#include "tree/overlay/login_window.hpp"
#include "tree/turn/events.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree::proto {

class LoginsInFlight {
public:
  enum class Silence : std::uint8_t {
    borne,
    judged,  // where the job can do without a host: by the user's ++host-patience, or by what logins have
             // taken so far
  };
  /// `job` must outlive the object; the patience is as it says at the time.
  explicit LoginsInFlight(const wire::JobSpec& job);

  /// One more may begin.
  bool has_room() const { return window_.admits(begun_.size()); }
  bool empty() const { return begun_.empty(); }
  void begin(LinkId link, Silence silence, Instant now);
  void succeeded(LinkId link, Instant now);
  void failed(LinkId link, Errc code, Instant now);
  /// By our own wish: says nothing of hosts.
  void cancelled(LinkId link);

  /// When the next of those that are judged has been silent for too long.
  Instant patience_ends() const;
  /// One that has been silent for too long, once. It goes on.
  std::optional<LinkId> take_silent(Instant now);
  /// Those that have begun are not judged any more.
  void judge_no_more() { judged_.clear(); }

  /// How long a login takes at most, nine times of ten; 0: there was none yet.
  Duration usual() const { return patience_.usual(); }
  /// After what time from now each of them will have answered, if a login takes `latency`; without those that
  /// are so late that they count for nothing.
  std::vector<Duration> still_take(Duration latency, Instant now) const;

private:
  bool is_patient() const;
  Instant end(LinkId link);
  void skip_ended();

  const wire::JobSpec& job_;
  LoginWindow window_;
  Patience patience_;
  std::map<LinkId, Instant> begun_;
  std::list<LinkId> judged_;  // in the order in which they began; the first one is under way
};

}  // namespace charmtree::proto
