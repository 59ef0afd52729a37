// SPDX-License-Identifier: Apache-2.0
// When a message arrives: it waits for the sender's network interface, which sends one thing after the other,
// takes a while on its way, waits for the receiver's interface, and never overtakes another of its link.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/sim/settings.hpp"
#include "tree/base/random.hpp"

namespace charmtree::sim {

/// A link between a launcher and one that it started. An end that is closed sends and hears nothing.
struct Wire {
  std::uint32_t parent, child;  // launchers
  std::uint32_t link;           // the parent's name for it
  bool parent_open = true, child_open = true;
  bool is_dead = false;               // nothing arrives any more, and nobody is told
  Duration last_up{0}, last_down{0};  // arrivals
};

class Network {
public:
  /// Both must outlive it.
  Network(const Settings& settings, Random& random);

  /// Of a message of so many bytes that is sent `at`.
  Duration arrival(Wire& wire, bool up, Duration at, std::size_t bytes);
  /// One way, for what is on no link yet.
  Duration delay();

private:
  struct Interface {
    Duration out{0}, in{0};  // busy until
  };
  Interface& of(std::uint32_t launcher);

  const Settings& settings_;
  Random& random_;
  Duration least_;
  double per_byte_;  // nanoseconds
  std::vector<Interface> interfaces_;
};

}  // namespace charmtree::sim
