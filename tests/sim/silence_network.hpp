// SPDX-License-Identifier: Apache-2.0
// TCP connections over a network that loses packets, each by itself: a segment that is lost is sent again
// after a time-out that doubles, and what was sent behind it waits for it. Every segment that arrives is
// acknowledged by the other machine's kernel, whatever waits, and whatever its launcher does;
// acknowledgements are lost like others. A machine that has not got one sends again. Stricter than Linux,
// whose sockets also take every other segment of the far machine for a sign of life.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "tests/sim/dice.hpp"
#include "tests/sim/silence_calendar.hpp"
#include "tests/sim/silence_settings.hpp"

namespace charmtree::silence {

inline constexpr Duration kStep = 250us;

inline Step steps(Duration duration) {
  return static_cast<Step>((duration + kStep - Duration{1}) / kStep);
}
inline Duration duration(Step steps) {
  return kStep * steps;
}
inline Step steps_of(double ms) {
  return steps(Duration{static_cast<Duration::rep>(ms * 1e6)});
}

/// The ends of a link.
enum End : std::uint8_t { kParent, kChild };
inline End other(End end) {
  return end == kParent ? kChild : kParent;
}

/// What the kernels of both ends know of it, by end.
struct Link {
  struct Side {
    Step heard = 0;         // the last bytes came in order
    Step arrival = 0;       // until then what is sent to this end waits for what was sent before
    Step acknowledged = 0;  // the last acknowledgement of what this end has sent; may be about to come
    Step before = 0;        // and the one before it
    Step answer = 0;        // of the port of the host at the other end, if that lives
    Step limit = 0;         // until then it is waited for
    bool is_probing = false, answers = false;

    Duration acknowledged_ago(Step now) const {
      return duration(now - (acknowledged <= now ? acknowledged : std::min(before, now)));
    }
    void acknowledge(Step at) {
      if (at <= acknowledged) return;
      before = acknowledged;
      acknowledged = at;
    }
  };
  std::array<Side, 2> sides;
  bool is_up = false;
  bool is_cut = false;  // nothing arrives any more
};

class Network {
public:
  Network(const Settings& settings, Random& random)
      : random_(random),
        loss_(static_cast<std::uint64_t>(settings.loss * 0x1p63) * 2),
        rto_(steps_of(settings.rto)),
        syn_rto_(steps_of(settings.syn_rto)),
        least_(std::max<Step>(steps_of(settings.link), 1)),
        delayed_ack_(steps_of(settings.delayed_ack)) {}

  /// When a segment that is sent now is at the other end in order, and when it is acknowledged.
  struct Fate {
    Step arrives, acknowledged;
    bool is_plain;  // nothing was lost, and nothing before it: it is acknowledged when it has arrived
  };
  Fate send(Link::Side& to, Step now) {
    const Step delay = this->delay();
    bool arrives = !is_lost(), acknowledged = arrives && !is_lost();
    Step late = 0, late_ack = 0;
    for (Step timeout = rto_; !acknowledged; timeout = std::min(2 * timeout, kMostTimeout)) {
      late_ack += timeout;
      if (!arrives) late = late_ack;
      const bool is_there = !is_lost();
      arrives = arrives || is_there;
      acknowledged = is_there && !is_lost();
    }
    const Step own = now + delay + late;
    const bool is_plain = late_ack == 0 && to.arrival <= own;
    to.arrival = std::max(to.arrival, own);
    return {to.arrival, now + delay + late_ack, is_plain};
  }
  /// Until the last byte of a segment that was lost for so many times comes.
  Step late_by(unsigned losses) const { return rto_ * ((1U << losses) - 1); }

  /// When a connection that is begun now is answered, if the machine lives.
  Step connect(Step now) {
    Step at = now + 2 * delay();
    for (Step timeout = syn_rto_; is_lost() || is_lost(); timeout = std::min(2 * timeout, kMostTimeout))
      at += timeout;
    return at;
  }
  Step acknowledges_after() const { return delayed_ack_; }

private:
  static constexpr Step kMostTimeout = 120s / kStep;  // TCP_RTO_MAX

  bool is_lost() { return random_.next() < loss_; }
  Step delay() { return least_ + static_cast<Step>(random_.below(3 * least_ + 1)); }

  Random& random_;
  std::uint64_t loss_;
  Step rto_, syn_rto_, least_, delayed_ack_;
};

}  // namespace charmtree::silence
