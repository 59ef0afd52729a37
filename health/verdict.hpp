// SPDX-License-Identifier: Apache-2.0
// What became of a launcher that is not heard any more.
#pragma once

#include <cstdint>

#include "tree/base/error.hpp"
#include "tree/base/time.hpp"
#include "tree/turn/events.hpp"

namespace charmtree::health {

using proto::LinkId;

enum class Symptom : std::uint8_t {
  gone,       // its host or its network
  half_open,  // the connection, while the host lives
  frozen,     // the launcher, while its host takes what is sent to it
  silent,     // nobody knows: what its host acknowledges does not show
};

struct Verdict {
  LinkId link = 0;
  Symptom cause = Symptom::gone;
  Duration silence{0};
  friend bool operator==(const Verdict&, const Verdict&) = default;
};

/// For people: what happened, and what to try.
Error explain(const Verdict& verdict);

}  // namespace charmtree::health
