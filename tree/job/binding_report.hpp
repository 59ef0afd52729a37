// SPDX-License-Identifier: Apache-2.0
// ++report-bindings at the root: to which processors the processes are bound, once all launchers have told.
#pragma once

#include <utility>
#include <vector>

#include "tree/turn/events.hpp"

namespace charmtree::proto {

class BindingReport {
public:
  void on(wire::Bindings told) { told_.push_back(std::move(told)); }
  /// `all_told`: a launcher says it before it starts its processes, so that is so when all hosts are up.
  void turn(bool all_told, const std::vector<Host>& hosts, Actions& out);

private:
  std::vector<wire::Bindings> told_;  // and not yet shown
};

}  // namespace charmtree::proto
