// SPDX-License-Identifier: Apache-2.0
// A root takes the place of one that was lost (++keep-alive, ++attach; DESIGN D26). For it all launchers that
// the other one had started are such as have lost their parent: they are sought and claimed as in a repair,
// but that here those who are adopted know more than who adopts them: how often barriers have opened, and who
// is lost. Some may have heard more of it than others. A host that is not reached is tried again, since what
// has parted the last root from it may be over in a moment. When all have been found, or the time for it is
// over, everybody is told what others had heard, and an epoch begins: entries of barriers are counted anew.
//
// All are found, or 15 s have passed; until then the new root decides nothing. A launcher that has lost the
// root waits for a claim for as long as the user has said; those below notice nothing. Whether it has lost
// the root or its link is for it to see, so the tree of such a job repairs itself with the policy abort, too:
// that decides about processes alone. The new root has no numbers of output: what is sent says whether it is
// the oldest that no root is known to have (Output::is_oldest), and with such a one it begins. So nothing is
// lost but what the old root had not written, and what it had shown without having said so is shown again.
// Answers on their way to processes may be lost with a link: a receipt for a print counts as come wherever
// output is sent again, and a scanf reads the end of the input (Resend). On one machine there is one root by
// the name of its status socket; elsewhere one that hears Taken ends alone.
#include <algorithm>
#include <utility>

#include "charmrun/node/node.hpp"

namespace charmtree {

using namespace proto;

void Node::take_over() {
  progress_.has_numbers = logins_recorded_ = true;
  repairs_.take_over(takeover_->shape, *this);
}

/// If the job is to end, whoever has not been found yet is told so when he is.
void Node::takeover_turn() {
  if (!takeover_ || !desk_->has_begun()) return;
  if (!repairs_.seeks_all() || desk_->judge().verdict()) end_takeover();
}

void Node::end_takeover() {
  const Takeover taken = *std::exchange(takeover_, std::nullopt);
  repairs_.end_takeover();
  if (taken.heirs.empty()) return find_nobody(taken.unreached);
  Heritage heritage;
  for (const auto& [link, heir] : taken.heirs) {
    heritage.epoch = std::max(heritage.epoch, heir.epoch);
    heritage.has_table = heritage.has_table || heir.has_table;
    for (const wire::ProcessSet::Range& range : heir.lost) heritage.lost.add(range);
    for (std::size_t kind = 0; kind < heir.releases.size(); ++kind)
      heritage.releases[kind] = std::max(heritage.releases[kind], heir.releases[kind]);
  }
  progress_.epoch = heritage.epoch;
  progress_.releases = heritage.releases;
  progress_.has_table = heritage.has_table;
  for (const Host& host : desk_->hosts()) {
    if (progress_.has_table) launch_->subtree().registered(host.index);
  }
  count_out(heritage.lost.ranges());
  for (const auto& [link, heir] : taken.heirs) catch_up(link, heir, heritage);
  DeskOrders orders;
  desk_->resume(heritage, *out_, orders);
  pass_on(orders);
  // The root that was lost may have known of some of these, and told nobody.
  const auto is_told = [&](const wire::ProcessSet::Range& range) {
    return heritage.lost.missing(range).empty();
  };
  for (const wire::LinkLost& lost : taken.lost) {
    const bool all_told = std::all_of(lost.processes.begin(), lost.processes.end(), is_told);
    if (lost.processes.empty() || !all_told) tell_up(lost);
  }
}

/// Those who could not be asked are left alone: their user may come from where they can be reached.
void Node::find_nobody(const std::string& unreached) {
  leaves_job_ = !unreached.empty();
  if (!leaves_job_)
    return desk_->refuse({Errc::link_lost, Phase::run, "no launcher of the job waits for another root",
                          "it has ended, or waited for longer than its ++keep-alive"});
  launch_->abandon(*out_);
  unconfirmed_.clear();
  desk_->refuse({Errc::link_lost, Phase::run, "no launcher of the job was reached: " + unreached,
                 "it may still wait: put that right and attach again"});
}

/// What others had heard from the root that was lost, and it had not. A barrier that has opened for others,
/// and not here, is one at most: the second needs those here.
void Node::catch_up(LinkId link, const wire::Claimed& heir, const Heritage& heritage) {
  if (launch_->find_up(link) == nullptr) return;
  for (std::size_t kind = 0; kind < heir.releases.size(); ++kind) {
    if (heir.releases[kind] < heritage.releases[kind])
      out_->push_back(Send{link, wire::Release{static_cast<std::uint8_t>(kind)}});
  }
  wire::ProcessSet known;
  for (const wire::ProcessSet::Range& range : heir.lost) known.add(range);
  wire::Lost lost{heritage.epoch, {}};
  for (const wire::ProcessSet::Range& range : heritage.lost.ranges()) {
    for (const wire::ProcessSet::Range& fresh : known.missing(range)) lost.processes.push_back(fresh);
  }
  if (!lost.processes.empty()) out_->push_back(Send{link, std::move(lost)});
}

/// Whoever may have to take over from us has to know the tree as it is.
void Node::keep_tree() {
  if (desk_->judge().verdict()) return;
  const bool is_launched =
      desk_->judge().launch().all_up() && (progress_.has_table || !progress_.any_registered);
  if (!job_->keeps_alive() || !tree_changed_ || ending_ != Ending::no || !is_launched) return;
  tree_changed_ = false;
  KeepTree kept{{{}, progress_.below_lost_launchers}, desk_->hosts(), job_->pes_per_process};
  for (const Host& host : kept.hosts) {
    const Subtree::Entry* entry = launch_->subtree().find(host.index);
    if (entry != nullptr && entry->by) kept.shape.started_by.push_back({host.index, *entry->by});
  }
  out_->push_back(std::move(kept));
}

}  // namespace charmtree
