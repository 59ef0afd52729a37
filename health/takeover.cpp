// SPDX-License-Identifier: Apache-2.0
// All are found, or 15 s have passed; until then the new root decides nothing. A launcher that has lost the
// root waits for a claim for as long as the user has said; those below notice nothing. Whether it has lost
// the root or its link is for it to see, so the tree of such a job repairs itself with the policy abort, too:
// that decides about processes alone. The new root has no numbers of output: what is sent says whether it is
// the oldest that no root is known to have (Output::is_oldest), and with such a one it begins. So nothing is
// lost but what the old root had not written, and what it had shown without having said so is shown again.
// Answers on their way to processes may be lost with a link: a receipt for a print counts as come wherever
// output is sent again, and a scanf reads the end of the input (Resend). On one machine there is one root by
// the name of its status socket; elsewhere one that hears Taken ends alone.
#include "health/takeover.hpp"

#include <algorithm>
#include <utility>

#include "tree/job/run_progress.hpp"
#include "tree/overlay/launch.hpp"

namespace charmtree::health {

using namespace proto;

InheritedState Takeover::inherited() const {
  InheritedState all;
  for (const auto& [link, heir] : heirs_) {
    all.epoch = std::max(all.epoch, heir.epoch);
    all.has_table = all.has_table || heir.has_table;
    all.lost.add_all(heir.lost);
    for (std::size_t kind = 0; kind < heir.releases.size(); ++kind)
      all.releases[kind] = std::max(all.releases[kind], heir.releases[kind]);
  }
  return all;
}

/// A barrier that has opened for others, and not here, is one at most: the second needs those here.
void Takeover::even_out(const InheritedState& inherited, Turn& turn) const {
  for (const auto& [link, heir] : heirs_) {
    for (std::size_t kind = 0; kind < heir.releases.size(); ++kind) {
      if (heir.releases[kind] < inherited.releases[kind])
        turn.hand_down_by(link, wire::Release{static_cast<std::uint8_t>(kind)});
    }
    const wire::ProcessSet known{heir.lost};
    wire::Lost lost{inherited.epoch, {}};
    for (const wire::ProcessSet::Range& range : inherited.lost.ranges()) {
      for (const wire::ProcessSet::Range& fresh : known.missing(range)) lost.processes.push_back(fresh);
    }
    if (!lost.processes.empty()) turn.hand_down_by(link, std::move(lost));
  }
}

std::vector<wire::LinkLost> Takeover::untold(const InheritedState& inherited) const {
  const auto is_told = [&](const wire::ProcessSet::Range& range) {
    return inherited.lost.missing(range).empty();
  };
  std::vector<wire::LinkLost> untold;
  for (const wire::LinkLost& lost : lost_) {
    const bool all_told = std::all_of(lost.processes.begin(), lost.processes.end(), is_told);
    if (lost.processes.empty() || !all_told) untold.push_back(lost);
  }
  return untold;
}

void KeptTree::keep(Turn& turn) {
  if (!changed_) return;  // asked at each turn
  const Seat seat = turn.seat();
  const bool is_launched = seat.progress.has_table || !seat.progress.any_registered;
  if (seat.is_ending || !is_launched) return;
  changed_ = false;
  if (!seat.job.keeps_alive()) return;
  KeepTree kept{{{}, seat.progress.below_lost_launchers}, *seat.hosts, seat.job.pes_per_process};
  for (const Host& host : kept.hosts) {
    const Subtree::Entry* entry = seat.launch.subtree().find(host.index);
    if (entry != nullptr && entry->by) kept.shape.started_by.push_back({host.index, *entry->by});
  }
  turn.act(std::move(kept));
}

}  // namespace charmtree::health
