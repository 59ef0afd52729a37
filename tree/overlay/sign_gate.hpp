// SPDX-License-Identifier: Apache-2.0
// What the root signs for other launchers (++forward-agent): logins to hosts of the job, under the name that
// the nodelist gives, by a key that it has offered. For each host that is a few times as long as the tree
// lives, whatever the number of runs: before its launcher is up, and again, to clean up or to start another
// one, when that was lost. After the end of the job, or of a run, has begun, only the latter is signed.
// Everything else is refused, so that a launcher that was taken over gets no more out of the user's keys than
// that. That a launcher asks only for hosts that it was given is not checked here but in the Node.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tree/base/result.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree::proto {

class SignGate {
public:
  /// At most `tries` signatures for one host, whoever asks. `job` must outlive the gate.
  SignGate(const wire::JobSpec& job, std::uint32_t tries) : job_(job), tries_(tries) {}

  /// The public key by which `data` is to be signed for a login to `host`; counts it. `is_ending`: the end
  /// has begun. Error: it is not to be signed, and why.
  Result<std::string> admit(const Host& host, std::string_view data, bool is_ending);

  /// The launcher of this host is up.
  void answered(std::uint32_t host) { hosts_[host].state = State::up; }
  /// It could not be started, or it is up and of no use.
  void failed(const wire::HostFailure& failure);
  /// It was up, or may have been, and its link has ended.
  void lost(std::uint32_t host) { hosts_[host].state = State::lost; }
  /// Hosts that had failed, or whose launchers were lost, are started again.
  void begin_run();
  /// All of these are up, and another root may have signed for them before: each has one signature left.
  void take_over(const std::vector<Host>& hosts);

private:
  enum class State : std::uint8_t { awaited, up, failed, lost };
  struct Entry {
    State state = State::awaited;
    std::uint32_t signatures = 0;
  };

  const wire::JobSpec& job_;
  std::uint32_t tries_;
  std::map<std::uint32_t, Entry> hosts_;  // that anything is known of
};

}  // namespace charmtree::proto
