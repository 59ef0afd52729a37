// SPDX-License-Identifier: Apache-2.0
// What ++doctor has learnt about every host: plain data, filled in by Doctor and read by diagnose().
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "tree/base/error.hpp"
#include "tree/base/time.hpp"
#include "tree/wire/host.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree {

/// From where a host was logged in to: the root, or the one inner host that started all the others.
enum class Vantage : std::uint8_t { root, inner };
inline constexpr std::size_t kVantageCount = 2;

/// What became of the one login to a host from one vantage point. A host may have failed (no such working
/// directory) and been examined all the same.
struct Visit {
  bool tried = false;
  std::optional<Error> failure;
  std::optional<wire::Checkup> checkup;
  std::optional<Duration> login;  // until authenticated; not known of an ssh command
  std::optional<Duration> shell;  // from there until the launcher answered
};

struct CheckupRecord {
  wire::JobSpec job;
  std::vector<Host> hosts;
  std::array<std::vector<Visit>, kVantageCount> visits;  // by position in `hosts`
  std::optional<std::uint32_t> inner;                    // position of the inner host
  /// The root's wall clock when its Instants were zero, in milliseconds since 1970.
  std::int64_t wall_ms_at_zero = 0;

  const Visit& visit(Vantage from, std::size_t host) const {
    return visits[static_cast<std::size_t>(from)][host];
  }
  const Profile& profile(std::size_t host) const { return job.profiles[hosts[host].profile]; }
};

}  // namespace charmtree
