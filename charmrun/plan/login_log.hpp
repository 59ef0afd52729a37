// SPDX-License-Identifier: Apache-2.0
// The logins of one launch that the root made itself, for the history: what each took and what they cost.
// Pure.
#pragma once

#include <span>
#include <vector>

#include "charmrun/plan/history.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree {

class LoginLog {
public:
  /// The job's hosts and profiles must outlive the object.
  LoginLog(std::span<const Host> hosts, std::span<const Profile> profiles)
      : hosts_(hosts), profiles_(profiles) {}

  /// Stamps as Record actions have them; all but those of the root's own logins are left out. `used`: CPU
  /// time of this process since before the first login.
  void stamped(const wire::Stamps& stamps, Duration used);

  const std::vector<LoginSample>& samples() const { return samples_; }
  /// CPU time per login; 0: it cannot be told, for other processes did a part of the work.
  Duration occupancy() const;

private:
  std::span<const Host> hosts_;
  std::span<const Profile> profiles_;
  std::vector<LoginSample> samples_;
  Duration used_{0};
  bool by_commands_ = false;
};

}  // namespace charmtree
