// SPDX-License-Identifier: Apache-2.0
// The part of a launcher that is adopted: its parent, or one nearer to the root, has come by another way, and
// takes the place of the parent. (The other half: Repairs.) Both tell each other again what may have been
// lost with the old link: from above the barriers that have opened and who is lost, from below who has ended
// and who is lost, and the output that the root is not known to have. Until then, for a while, nobody here or
// below is killed for want of a parent.
//
// Its messages: Waiting, Claim, Claimed, Taken. What has come of it, it tells as ParentReplaced.
#pragma once

#include <string>

#include "health/adoption_proof.hpp"
#include "tree/turn/turn.hpp"

namespace charmtree::health {

class Adoption {
public:
  /// `random` must outlive the object.
  explicit Adoption(Random& random) : random_(random) {}

  /// Once there is nothing left that is told only once, as in a launch.
  static bool is_possible(const proto::Seat& seat);
  /// It was the root that we would have lost: another may come when its user wants it to.
  static bool awaits_root(const proto::Seat& seat);

  /// Somebody has come.
  void offer(proto::Turn& turn);
  /// What that one says.
  void up(const wire::Message& message, proto::Turn& turn);

private:
  void claim(const wire::Claim& claim, proto::Turn& turn);
  std::string proof(const char* what, const std::string& theirs, const proto::Seat& seat) const;

  Random& random_;
  std::string nonce_;  // told to who may adopt us
};

}  // namespace charmtree::health
