// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/network.hpp"

#include <algorithm>

#include "tests/sim/dice.hpp"

namespace charmtree::sim {

Network::Network(const Settings& settings, Random& random)
    : settings_(settings),
      random_(random),
      least_(ms(settings.link)),
      per_byte_(settings.bandwidth > 0 ? 1000 / settings.bandwidth : 0) {}

Network::Interface& Network::of(std::uint32_t launcher) {
  if (interfaces_.size() <= launcher) interfaces_.resize(launcher + std::size_t{1});
  return interfaces_[launcher];
}

Duration Network::delay() {
  Duration delay = scaled(least_, 1 + exponential(random_));
  if (settings_.fat > 0 && uniform(random_) < settings_.fat)
    delay += scaled(ms(settings_.fat_delay), exponential(random_));
  return delay;
}

Duration Network::arrival(Wire& wire, bool up, Duration at, std::size_t bytes) {
  const Duration takes{static_cast<Duration::rep>(per_byte_ * static_cast<double>(bytes))};
  of(std::max(wire.parent, wire.child));  // grown before references are taken
  Duration& out = of(up ? wire.child : wire.parent).out;
  Duration& in = of(up ? wire.parent : wire.child).in;
  out = std::max(out, at) + takes;
  in = std::max(out, in + takes);
  Duration& last = up ? wire.last_up : wire.last_down;
  last = std::max(last + Duration{1}, in + delay());
  return last;
}

}  // namespace charmtree::sim
