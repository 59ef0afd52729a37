// SPDX-License-Identifier: Apache-2.0
// Hosts without a launcher that a later run is to start: those whose turn had not come when the run ended,
// and in a session those that could not be started, which runs that begin too soon do without.
#pragma once

#include <vector>

#include "tree/base/error.hpp"
#include "tree/base/time.hpp"
#include "tree/wire/host.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree::proto {

class PostponedHosts {
public:
  /// In a session a host that could not be started is not tried again by runs that begin sooner: each would
  /// wait for it.
  static constexpr Duration kTryAgain = 30s;

  /// `job` must outlive the object.
  explicit PostponedHosts(const wire::JobSpec& job) : job_(job) {}

  /// The run has ended before it was started.
  void keep(Host host) { kept_.push_back(std::move(host)); }
  /// It could not be started: that is appended to `failed`.
  void could_not_start(const Host& host, Error error, Instant now, std::vector<wire::HostFailure>& failed);
  /// Those that the run that begins now is to start. Those that are not to be tried yet are appended to
  /// `failed`, and stay.
  std::vector<Host> take(Instant now, std::vector<wire::HostFailure>& failed);

private:
  struct Missing {
    Host host;
    Error error;
    Instant again_at;
  };

  const wire::JobSpec& job_;
  std::vector<Host> kept_;
  std::vector<Missing> missing_;
};

}  // namespace charmtree::proto
