// SPDX-License-Identifier: Apache-2.0
// How many logins a launcher may have in flight: a window that grows while logins keep their latency and is
// halved when hosts turn logins away (DESIGN D6; AIMD as in TCP: RFC 5681). One host that refuses has no
// sshd; only if most do is it a sign that we are too many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tree/base/error.hpp"
#include "tree/base/time.hpp"

namespace charmtree::proto {

class LoginWindow {
public:
  static constexpr std::size_t kLeast = 4, kMost = 1024;

  struct Config {
    std::uint32_t first = 64;  // to begin with
    std::uint32_t fixed = 0;   // ++batch: the window never changes; 0: it adapts
    std::uint32_t most = 0;    // ++maxssh: it never is larger; 0: kMost
  };
  explicit LoginWindow(const Config& config);

  bool admits(std::size_t in_flight) const { return in_flight < size(); }
  std::size_t size() const { return static_cast<std::size_t>(size_); }

  void succeeded(Duration latency);
  /// A login that began at `begun` ended with this error.
  void failed(Errc code, Instant begun, Instant now);

private:
  bool turned_away(Errc code);

  bool adapts_;
  double size_, most_;
  double threshold_;           // below it the window grows by one for each login, above it by one per round
  Duration latency_{0};        // smoothed
  Duration least_latency_{0};  // of the smoothed
  Instant halved_at_{};        // logins that began before have no say any more
  bool halved_ = false;
  std::uint32_t answers_ = 0;  // the latest ones, one bit each; 1: refused
};

/// How long a login may be silent before its host is given up: four times what nine of ten logins took, at
/// least 2 s.
class Patience {
public:
  /// `fixed`: always this; 0: from the logins so far.
  explicit Patience(Duration fixed) : fixed_(fixed) {}
  void succeeded(Duration latency);
  Duration get() const;
  /// What nine of ten logins so far have taken at most; 0: there were none.
  Duration usual() const;

private:
  static constexpr std::size_t kMostSamples = 256;
  Duration fixed_;
  std::vector<Duration> latencies_;  // sorted
};

}  // namespace charmtree::proto
