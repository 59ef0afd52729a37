// SPDX-License-Identifier: Apache-2.0
// What the root signs for other launchers (++forward-agent): logins to hosts of the job, under the name that
// the nodelist gives, by a key that it has offered, a few times for each host. Everything else is refused, so
// that a launcher that was taken over gets no more out of the user's keys than that. That a launcher asks
// only for hosts that it was given is not checked here but in the Node.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "tree/base/result.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree::proto {

class SignGate {
public:
  /// At most `tries` signatures for one host, whoever asks. `job` must outlive the gate.
  SignGate(const wire::JobSpec& job, std::uint32_t tries) : job_(job), tries_(tries) {}

  /// The public key by which `data` is to be signed for a login to `host`; counts it. Error: it is not to be
  /// signed, and why.
  Result<std::string> admit(const Host& host, std::string_view data);

private:
  const wire::JobSpec& job_;
  std::uint32_t tries_;
  std::map<std::uint32_t, std::uint32_t> signed_;  // host -> how often
};

}  // namespace charmtree::proto
