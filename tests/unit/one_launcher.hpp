// SPDX-License-Identifier: Apache-2.0
// One launcher, event by event.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

#include "tests/unit/plans.hpp"
#include "tree/node/node.hpp"

namespace charmtree::test {

inline RootPlan make_plan(std::uint32_t hosts) {
  RootPlan plan = plan_of(hosts);
  plan.job.id = "0123456789abcdef";
  plan.job.profiles.resize(1);
  return plan;
}

/// Time passes as little as the launcher asks for.
struct OneLauncher {
  template <class... Arguments>
  explicit OneLauncher(Arguments&&... arguments) : node(std::forward<Arguments>(arguments)...) {}

  void on(const proto::Event& event) {
    out.clear();
    node.on(event, now, out);
  }
  void tick() {
    now = std::max(now, node.next_deadline());
    on(proto::Tick{});
  }
  template <class A>
  std::size_t count() const {
    return static_cast<std::size_t>(std::count_if(
        out.begin(), out.end(), [](const proto::Action& a) { return holds_alternative<A>(a); }));
  }

  /// The first of what it did that is an A; null: none.
  template <class A>
  const A* first() const {
    const auto is = [](const proto::Action& action) { return holds_alternative<A>(action); };
    const auto it = std::find_if(out.begin(), out.end(), is);
    return it == out.end() ? nullptr : &get<A>(*it);
  }
  /// The first message of that kind that it sent to `link`; null: none.
  template <class M>
  const M* sent(proto::LinkId link) const {
    for (const proto::Action& action : out) {
      const auto* send = get_if<proto::Send>(&action);
      if (send == nullptr || send->link != link) continue;
      if (const auto* message = get_if<M>(&send->message)) return message;
    }
    return nullptr;
  }

  Node node;
  Instant now{1s};
  proto::Actions out;
};

}  // namespace charmtree::test
