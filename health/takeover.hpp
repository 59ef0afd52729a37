// SPDX-License-Identifier: Apache-2.0
// A root takes the place of one that was lost (++keep-alive, ++attach; DESIGN D26). For it all launchers that
// the other one had started are such as have lost their parent: they are sought and claimed as in a repair
// (Repairs), but that here those who are adopted know more than who adopts them: how often barriers have
// opened, and who is lost. Some may have heard more of it than others. A host that is not reached is tried
// again, since what has parted the last root from it may be over in a moment. When all have been found, or
// the time for it is over, everybody is told what others had heard, and an epoch begins: entries of barriers
// are counted anew.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tree/job/judge.hpp"
#include "tree/turn/turn.hpp"

namespace charmtree::health {

/// What the search has found so far; until it is over the new root decides nothing.
class Takeover {
public:
  /// `shape`: the tree as the last root has kept it.
  explicit Takeover(proto::TreeShape shape) : shape_(std::move(shape)) {}
  const proto::TreeShape& shape() const { return shape_; }

  void found(proto::LinkId link, wire::Claimed heir) { heirs_.emplace(link, std::move(heir)); }
  void lost(wire::LinkLost launcher) { lost_.push_back(std::move(launcher)); }
  /// The first that nobody could ask, and why, is told to the user if nobody else is found.
  void unreached(const std::string& what) {
    if (unreached_.empty()) unreached_ = what;
  }

  bool has_found_any() const { return !heirs_.empty(); }
  const std::string& unreached() const { return unreached_; }
  /// What those who were found had been told, taken together.
  proto::InheritedState inherited() const;
  /// Tells each of them what others had heard from the root that was lost, and it had not.
  void even_out(const proto::InheritedState& inherited, proto::Turn& turn) const;
  /// Those who are lost, but for those of whom the last root has told everybody. It may have known of some
  /// more, and told nobody.
  std::vector<wire::LinkLost> untold(const proto::InheritedState& inherited) const;

private:
  proto::TreeShape shape_;
  std::map<proto::LinkId, wire::Claimed> heirs_;  // who have been found, and what they had been told
  std::vector<wire::LinkLost> lost_;              // who have not
  std::string unreached_;
};

/// What a root keeps in a file of a job that outlives it, so that another one can take over: written when
/// the tree has changed.
class KeptTree {
public:
  void changed() { changed_ = true; }
  /// Root, once the launch is over: it is kept as it is now, if it has changed.
  void keep(proto::Turn& turn);

private:
  bool changed_ = true;  // since it was kept last
};

}  // namespace charmtree::health
