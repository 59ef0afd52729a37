// SPDX-License-Identifier: Apache-2.0
// The part that has killed what processes have left behind on this host: at the end of a run, and in a
// launcher that was started for nothing else, where another one was lost (Sweep), or to reach one that waits
// to be adopted (Adopt) and does not.
#pragma once

#include <optional>

#include "tree/turn/turn.hpp"

namespace charmtree::proto {

class CleanUp {
public:
  /// It is looked for until nobody waits for it any longer: HostIsClean.
  void order(KillLeftovers what, Turn& turn);

  // The first words to a launcher on an errand; it says Swept, and ends.
  void down(const wire::Sweep& order, Turn& turn);
  void down(const wire::Adopt& order, Turn& turn);
  bool is_errand() const { return is_errand_; }

  void on(const LeftoversKilled& event, Turn& turn);
  /// The launcher that is sought is gone, but not all of what it had started may be.
  void on(const NobodyWaits& event, Turn& turn);

private:
  std::optional<KillLeftovers> order_;  // the last
  bool is_errand_ = false;
  std::optional<wire::Adopt> relay_;  // we were started for
};

}  // namespace charmtree::proto
