// SPDX-License-Identifier: Apache-2.0
// The part that carries CCS requests for several processes: they go down the tree once per launcher, and one
// answer comes up from each (CcsFanout). At the root the router asks, and gets what all have answered without
// who did.
//
// Its messages: CcsSpread, CcsAnswer.
#pragma once

#include "ccs/ccs_fanout.hpp"
#include "tree/overlay/launch.hpp"
#include "tree/turn/turn.hpp"

namespace charmtree::proto {

class CcsPart {
public:
  void down(const wire::CcsSpread& piece, Turn& turn);
  /// Of a child; one that is not merged with others goes on up.
  void up(LinkId link, wire::CcsAnswer piece, Turn& turn);
  /// Of a process of this host. True: it is merged with others.
  bool merges(const wire::CcsAnswer& piece, Turn& turn);
  void lost(const Child& child, LinkId link, Turn& turn);

private:
  void request_own(const std::vector<std::uint32_t>& processes, Turn& turn);
  void merge(CcsFanout::Source source, const wire::CcsAnswer& piece, Turn& turn);
  static void pass_on(CcsFanout::Answer answer, Turn& turn);

  CcsFanout fanout_;
};

}  // namespace charmtree::proto
