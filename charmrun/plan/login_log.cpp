// SPDX-License-Identifier: Apache-2.0
#include "charmrun/plan/login_log.hpp"

namespace charmtree {

/// A login that went through libssh2 has its steps; one by a command (which it may have fallen back to) has
/// none. Stamps with the launcher's own half are those of the report: the same login once more.
void LoginLog::stamped(const wire::Stamps& stamps, Duration used) {
  using S = wire::Stamps;
  if (stamps.parent != wire::kRootIndex || stamps.host >= hosts_.size()) return;
  if (stamps.times[S::prepared] != kNever || stamps.times[S::begun] == kNever ||
      stamps.times[S::hello] == kNever)
    return;
  const Host& host = hosts_[stamps.host];
  if (profiles_[host.profile].via == Via::local) return;
  const bool command = stamps.times[S::handshaken] == kNever;
  samples_.push_back({host_pattern(host.name, command ? Via::command : Via::ssh),
                      stamps.times[S::hello] - stamps.times[S::begun]});
  by_commands_ = by_commands_ || command;
  used_ = used;
}

Duration LoginLog::occupancy() const {
  if (samples_.empty() || by_commands_) return Duration{0};
  return used_ / static_cast<std::int64_t>(samples_.size());
}

}  // namespace charmtree
