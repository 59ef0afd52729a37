// SPDX-License-Identifier: Apache-2.0
// The hosts of a simulated world, drawn from the seed: how long a login takes there and how it ends, which
// nodelist names are one machine, and that machine's sshd with its MaxStartups. Knows nothing of launchers.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/sim/settings.hpp"
#include "tree/base/error.hpp"
#include "tree/base/random.hpp"

namespace charmtree::sim {

/// How logins into a host end.
enum class Nature : std::uint8_t {
  good,
  dead,
  refusing,
  silent,
  denied,
  broken,
  unready,      // a good launcher, but the working directory is missing
  unspawnable,  // and there the program
  root_only,
  flaky,
};

/// MaxStartups start:rate:full of sshd_config(5), and how many logins have not authenticated yet.
struct Sshd {
  std::uint32_t start = 10, rate = 30, full = 100;
  std::uint32_t pending = 0;
  bool is_touchy = false, is_shared = false;

  /// Takes a new connection in, or drops it.
  bool admits(Random& random);
  /// If it never drops anybody, whatever a launcher does, nobody needs to ask it.
  bool is_relevant() const { return is_touchy || is_shared; }
};

struct SimHost {
  Nature nature = Nature::good;
  std::uint32_t tries = 0;    // logins so far
  std::uint32_t flakes = 0;   // so many of them fail
  std::uint32_t machine = 0;  // hosts with the same are one
  bool is_off = false;        // its power has gone
  bool is_unplugged = false;  // the next login fails for that
  Duration latency{0};
  double slowness = 1;

  /// It can be started, sooner or later, and runs its processes.
  bool lives() const {
    return nature == Nature::good || nature == Nature::root_only || nature == Nature::flaky;
  }
  /// A launcher can be started there.
  bool takes_launchers() const {
    return lives() || nature == Nature::unready || nature == Nature::unspawnable;
  }
};

class Hosts {
public:
  Hosts(const Settings& settings, Random& random);

  SimHost& operator[](std::uint32_t host) { return hosts_[host]; }
  const SimHost& operator[](std::uint32_t host) const { return hosts_[host]; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(hosts_.size()); }
  Sshd& sshd(std::uint32_t host) { return machines_[hosts_[host].machine]; }
  /// Hosts that can be started.
  std::uint32_t living() const;
  /// Hosts on which a launcher can be started.
  std::uint32_t reachable() const;

  /// How a login ends that the sshd accepts, and how long after its begin.
  struct Answer {
    Duration after;
    Errc code = Errc::internal;  // internal: it succeeds
  };
  Answer answer(std::uint32_t host, bool from_root);

private:
  Nature draw_nature(const Settings& settings, Random& random) const;

  Duration link_, give_up_, timeout_;
  std::vector<SimHost> hosts_;
  std::vector<Sshd> machines_;
};

/// What the launcher that logs in hears.
Error login_error(Errc code);

}  // namespace charmtree::sim
