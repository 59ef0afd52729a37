// SPDX-License-Identifier: Apache-2.0
// What logins have cost this user so far, by kinds of hosts: the constants with which launches are planned. A
// small JSON document; where it is kept is history_file's business. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tree/base/result.hpp"
#include "tree/base/time.hpp"
#include "tree/overlay/postal.hpp"
#include "tree/wire/host.hpp"

namespace charmtree {

/// What a kind of hosts is known by: how they are logged into and the name without its numbers ("ssh
/// node#.site"). Empty for names that are too long or strange to be kept.
std::string host_pattern(std::string_view name, Via via);

/// One login, from its begin until the launcher there answered.
struct LoginSample {
  std::string pattern;
  Duration latency{0};
};

class History {
public:
  static constexpr std::size_t kMaxPatterns = 64;    // the longest unused one makes room
  static constexpr std::size_t kMaxPattern = 200;    // bytes
  static constexpr std::size_t kMaxText = 64 << 10;  // of the document
  /// What earlier logins count with each further launch: of ten launches ago, a tenth.
  static constexpr double kKeep = 0.8;

  struct Pattern {
    std::string name;
    std::uint64_t logins = 0;     // in all
    std::uint64_t last_used = 0;  // number of the launch
    double weight = 0;            // logins, aged
    Duration occupancy{0};        // of the launcher that logs in; 0: never known
    Duration median{0}, slow{0};  // latency: half, nine tenths of the logins were quicker
  };

  /// Takes in one launch. `occupancy`: what each login cost the launcher; 0: not known. Samples without a
  /// pattern do not count.
  void add(std::span<const LoginSample> logins, Duration occupancy);
  const Pattern* find(std::string_view pattern) const;
  const std::vector<Pattern>& patterns() const { return patterns_; }

  /// The document, at most kMaxText bytes.
  std::string text() const;
  /// Error bad_input if it is not such a document.
  static Result<History> parse(std::string_view text);

private:
  void take_in(const std::string& pattern, std::vector<Duration> latencies, Duration occupancy);
  void make_room();

  std::uint64_t launches_ = 0;
  std::vector<Pattern> patterns_;
};

/// What logins to the hosts of a job cost, as far as is known.
struct LoginCosts {
  proto::Postal postal;      // measured, else assumed; the mean over the remote hosts, or of local ones
  Duration slow_latency{0};  // of nine tenths of the logins; 0: nothing was measured
  std::uint64_t logins = 0;  // measured, to hosts like these
  std::uint64_t local = 0, ssh = 0, command = 0;  // hosts
  std::uint64_t known = 0;                        // remote hosts of a pattern that is in the history
  std::vector<std::string> patterns;              // the first few of those
  std::uint64_t remote() const { return ssh + command; }
};
LoginCosts login_costs(const History& history, std::span<const Host> hosts,
                       std::span<const Profile> profiles);

}  // namespace charmtree
