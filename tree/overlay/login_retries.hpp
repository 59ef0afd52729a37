// SPDX-License-Identifier: Apache-2.0
// Whether a login that has failed is tried again, and when. A host that is coming up is tried as long as the
// user wants to wait, one that is too busy until the time-out, and all others a few times. A visit has less
// time: it tries again where sshd was too busy, and, as long as it insists, where the host was not reached.
#pragma once

#include <cstdint>
#include <optional>

#include "tree/base/error.hpp"
#include "tree/base/random.hpp"
#include "tree/base/time.hpp"
#include "tree/overlay/child.hpp"
#include "tree/overlay/launch_config.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree::proto {

class LoginRetries {
public:
  /// `job` and `random` must outlive the object.
  LoginRetries(const wire::JobSpec& job, const LaunchConfig& config, Random& random);

  /// When the login of `child` begins again, which has failed like this; counts it there. Nothing: no more.
  std::optional<Instant> next(Child& child, Errc code, Instant now);

private:
  const wire::JobSpec& job_;
  std::uint32_t most_;  // per transport
  Duration first_pause_;
  bool is_root_;
  Random& random_;
};

}  // namespace charmtree::proto
