// SPDX-License-Identifier: Apache-2.0
// What the judge knows of the end of each process, beside the first cause.
#include "tree/proto/judge.hpp"

namespace charmtree::proto {

void Judge::note_end(std::uint32_t process, const WayToEnd& way, const std::string& how) {
  if (!ends_.add(way, {process, process}) || !way.is_failure()) return;
  failed_.push_back({process, host_of(process).index, way, how});
}

/// Before all were up, some may not have been started.
ProcessEnds Judge::ends() const {
  ProcessEnds ends = ends_;
  if (!verdict_ || !all_up()) return ends;
  const bool finished = verdict_->end.mode == wire::EndMode::finish;
  ends.add_others({finished ? EndKind::well : EndKind::stopped}, job_.processes);
  return ends;
}

/// Of losses each was told by a line of its own, and their sum is.
std::string Judge::failures() const {
  return losses_ && !losses_->lost().empty() ? std::string{} : ends_.line();
}

}  // namespace charmtree::proto
