// SPDX-License-Identifier: Apache-2.0
#include "tree/overlay/gather.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace charmtree::proto {

namespace {
template <class T>
void move_append(std::vector<T>& to, std::vector<T>&& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

/// Facts that are sent after kDelay even if the subtree is not complete.
bool has_small_news(const wire::Facts& facts) {
  return !facts.hosts_up.empty() || !facts.hosts_failed.empty() || facts.registered > 0 || facts.joined > 0 ||
         facts.ended > 0 || facts.exited_ok > 0 || !facts.who_ended.empty() || !facts.started_by.empty() ||
         !facts.exits.empty() || facts.crash_acks > 0 || !facts.random_layout.empty() ||
         !facts.blind.empty() || !facts.process_ids.empty();
}
}  // namespace

void Gather::add(wire::Facts facts, Instant now) {
  if (facts.empty()) return;
  move_append(pending_.hosts_up, std::move(facts.hosts_up));
  move_append(pending_.hosts_failed, std::move(facts.hosts_failed));
  move_append(pending_.blocks, std::move(facts.blocks));
  if (!facts.topologies.empty()) {
    move_append(pending_.topologies, std::move(facts.topologies));
    wire::fold(pending_.topologies);
  }
  for (wire::ProcessExit& exit : facts.exits) {
    finished_ += exit.registered ? 0 : 1;
    pending_.exits.push_back(std::move(exit));
  }
  move_append(pending_.random_layout, std::move(facts.random_layout));
  move_append(pending_.blind, std::move(facts.blind));
  move_append(pending_.started_by, std::move(facts.started_by));
  move_append(pending_.process_ids, std::move(facts.process_ids));
  if (!facts.who_ended.empty()) {
    move_append(pending_.who_ended, std::move(facts.who_ended));
    wire::fold(pending_.who_ended);
  }
  if (facts.epoch == pending_.epoch) {
    for (std::size_t kind = 0; kind < facts.barrier.size(); ++kind)
      pending_.barrier[kind] += facts.barrier[kind];
    pending_.crash_acks += facts.crash_acks;
  }
  pending_.registered += facts.registered;
  pending_.joined += facts.joined;
  pending_.peers.add(facts.peers_of_ended());
  pending_.ended += facts.ended;
  pending_.exited_ok += facts.exited_ok;
  if (facts.first_ok) pending_.first_ok = std::min(*facts.first_ok, pending_.first_ok.value_or(UINT32_MAX));
  finished_ += facts.ended + facts.exited_ok;
  if (facts.code && (!pending_.code || facts.code->process < pending_.code->process))
    pending_.code = facts.code;
  if (deadline_ == kNever && has_small_news(pending_)) deadline_ = now + kDelay;
  if (blocks_by_ == kNever && !pending_.blocks.empty()) blocks_by_ = now + kBlocksDelay;
}

void Gather::forget_ends() {
  pending_.who_ended.clear();
  pending_.exits.clear();
  pending_.ended = pending_.exited_ok = 0;
  pending_.peers = {};
}

void Gather::forget_tuples() {
  pending_.blocks.clear();
  blocks_by_ = kNever;
}

void Gather::begin_epoch(std::uint32_t epoch) {
  pending_.epoch = epoch;
  pending_.barrier = sent_ = {};
  pending_.crash_acks = 0;
}

bool Gather::entered_by_all(std::size_t kind, const Progress& progress) const {
  return sent_[kind] + pending_.barrier[kind] >= progress.processes;
}

bool Gather::urgent(const Progress& progress) const {
  if (!pending_.exits.empty() && !progress.ending) return true;
  if (progress.settled && (!pending_.hosts_up.empty() || !pending_.hosts_failed.empty())) return true;
  if (progress.complete && !pending_.blocks.empty()) return true;
  for (std::size_t kind = 0; kind < kBarrierKinds; ++kind) {
    if (pending_.barrier[kind] != 0 && entered_by_all(kind, progress)) return true;
  }
  if (pending_.crash_acks > 0 && pending_.crash_acks >= progress.survivors) return true;
  return (pending_.ended > 0 || pending_.exited_ok > 0) && finished_ >= progress.processes &&
         !progress.ending;
}

std::optional<wire::Facts> Gather::due(const Progress& progress, Instant now) {
  const bool with_blocks = progress.complete || now >= blocks_by_;
  if (now < deadline_ && now < blocks_by_ && !urgent(progress)) return {};
  std::array<bool, kBarrierKinds> complete{};
  for (std::size_t kind = 0; kind < kBarrierKinds; ++kind) complete[kind] = entered_by_all(kind, progress);
  wire::Facts facts = std::exchange(pending_, {});
  pending_.epoch = facts.epoch;
  deadline_ = kNever;
  if (with_blocks)
    blocks_by_ = kNever;
  else
    pending_.blocks = std::exchange(facts.blocks, {});
  for (std::size_t kind = 0; kind < kBarrierKinds; ++kind) {
    if (complete[kind])
      sent_[kind] += facts.barrier[kind];
    else
      pending_.barrier[kind] = std::exchange(facts.barrier[kind], 0);
  }
  if (facts.empty()) return {};
  return facts;
}

}  // namespace charmtree::proto
