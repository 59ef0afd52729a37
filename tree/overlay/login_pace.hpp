// SPDX-License-Identifier: Apache-2.0
// When the next login may begin, as far as that is a matter of time. The user's limit (++login-rate) is one
// for all launchers together: the root has all of it, and parts of it go down the tree with the hosts. With
// late binding there is a short pause between two logins, limit or not.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tree/base/time.hpp"
#include "tree/overlay/launch_config.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree::proto {

class LoginPace {
public:
  /// `job` must outlive the object; the limit is as it says at the time.
  LoginPace(const wire::JobSpec& job, const LaunchConfig& config);

  /// First logins to hosts begin one by one, at next() or later; without a pace, as soon as there is room.
  bool is_paced() const { return is_late_ || is_limited(); }
  Instant next() const { return next_; }
  /// The limit lets a login begin: also a further try, which does not keep to the pause.
  bool allows(Instant now) const { return !is_limited() || now >= next_; }
  /// When a further try that is due at `due` may begin.
  Instant retry_at(Instant due) const;

  void begun(Instant now) { next_ = now + pace(); }
  /// There are hosts again: the time before has passed unused.
  void resume(Instant now);

  // The rates are in the unit of wire::LaunchRules::login_rate.
  /// A part of the limit, from above.
  void receive(std::uint64_t rate, Instant now);
  /// The part that goes with `given` hosts, while `left` are left.
  std::uint64_t give(std::size_t given, std::size_t left);
  std::uint64_t give_all();
  /// What was given, and is not needed there any more.
  void take_back(std::uint64_t rate) { rate_ += rate; }

private:
  bool is_limited() const { return job_.launch.login_rate != 0; }
  Duration pace() const;

  const wire::JobSpec& job_;
  bool is_root_, is_late_;
  std::uint64_t rate_;  // our part of the job's
  Instant next_ = Instant::min();
};

}  // namespace charmtree::proto
