// SPDX-License-Identifier: Apache-2.0
#include "health/restart_policy.hpp"

#include <fmt/format.h>

namespace charmtree::health {

RestartPolicy::Decision RestartPolicy::failed(Instant begun, Instant now) {
  in_a_row_ = now - begun < kSettled ? in_a_row_ + 1 : 0;
  if (restarts_ >= most_)
    return {false, {}, fmt::format("it has been restarted {} times (++max-restarts)", restarts_)};
  if (in_a_row_ >= kMostInARow)
    return {false,
            {},
            fmt::format("it has failed {} times in a row within {:g} s of its start", in_a_row_,
                        seconds(kSettled))};
  ++restarts_;
  return {true, in_a_row_ > 1 ? kFirstPause * (1 << (in_a_row_ - 2)) : Duration{0}, {}};
}

}  // namespace charmtree::health
