// SPDX-License-Identifier: Apache-2.0
#include "tree/job/clean_up.hpp"

#include <utility>

namespace charmtree::proto {

void CleanUp::order(KillLeftovers what, Turn& turn) {
  order_ = std::move(what);
  turn.act(*order_);
}

void CleanUp::down(const wire::Sweep& sweep, Turn& turn) {
  is_errand_ = true;
  order({sweep.id, sweep.host}, turn);
}

void CleanUp::down(const wire::Adopt& adopt, Turn& turn) {
  is_errand_ = true;
  relay_ = adopt;
  turn.act(Relay{adopt.host, adopt.socket});
}

void CleanUp::on(const NobodyWaits&, Turn& turn) {
  if (relay_) order({relay_->id, relay_->host}, turn);
}

void CleanUp::on(const LeftoversKilled& event, Turn& turn) {
  if (!event.all) {
    if (order_) turn.act(*order_);
  } else if (is_errand_) {
    turn.act(Send{kParentLink, wire::Swept{event.killed}});
    turn.tell(ErrandDone{});
  } else {
    turn.tell(HostIsClean{});
  }
}

}  // namespace charmtree::proto
