// SPDX-License-Identifier: Apache-2.0
// The service `status` (++status, ++list): a client that opens it gets the status of the job, as JSON
// (docs/manual/status.md), and the end of the connection. Any version of charmrun may ask.
#pragma once

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "charmrun/control/listener.hpp"
#include "tree/base/result.hpp"
#include "tree/wire/frame.hpp"

namespace charmtree::control {

inline constexpr std::string_view kStatusService = "status";

/// The answer.
struct Status {
  std::string json;  // see status_json
};
using StatusMessage = std::variant<Status>;
Result<std::string> encode(const StatusMessage& message);
bool decode(const wire::Frame& frame, StatusMessage& message);

/// Adds the service to the listener. `status` is called from the loop.
void serve_status(Listener& listener, std::function<std::string()> status);

/// The jobs of this user on this machine (in this network namespace).
struct RunningJobs {
  std::vector<std::string> answers;  // the status of each that has answered
  std::vector<std::string> silent;   // the ids of the others
};
/// Asks all jobs at once. Blocks, 2 s at most.
RunningJobs find_running_jobs();
/// Returns the answers alone.
inline std::vector<std::string> ask_running_jobs() {
  return find_running_jobs().answers;
}

}  // namespace charmtree::control
