// SPDX-License-Identifier: Apache-2.0
// The part that starts launchers below this one (Launch), from what the shell tells of its logins and what
// parent and children say of hosts. One that only visits a host, because a launcher there was lost, is told
// as AdopterUp or VisitFailed.
//
// Its messages: Assign, Ask, HandBack.
#pragma once

#include <optional>

#include "tree/overlay/launch.hpp"
#include "tree/turn/turn.hpp"

namespace charmtree::proto {

class LaunchPart {
public:
  /// Of a launcher that knows its job; `job` and `random` must outlive the object.
  void begin(const wire::JobSpec& job, wire::Blob coded_job, LaunchConfig place, Random& random);
  bool has_begun() const { return launch_.has_value(); }
  /// Precondition: has_begun().
  Launch& launch() { return *launch_; }
  const Launch& launch() const { return *launch_; }

  void on(const LinkUp& event, Turn& turn);
  void on(const LoginFailed& event, Turn& turn);
  /// A Tick has come.
  void tick(Turn& turn);

  void down(const wire::Assign& more, Turn& turn);
  void up(LinkId link, const wire::Ask& ask, Turn& turn);
  /// `stays`: in the next run it is tried again anyway.
  void up(LinkId link, const wire::HandBack& message, bool stays, Turn& turn);

private:
  std::optional<Launch> launch_;
};

}  // namespace charmtree::proto
