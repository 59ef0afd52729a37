// SPDX-License-Identifier: Apache-2.0
#include "tree/job/testimony.hpp"

#include <algorithm>
#include <utility>

namespace charmtree::proto {

void Testimony::sift(wire::Facts& facts) {
  std::vector<wire::ProcessSet::Range> fresh;
  for (const wire::ProcessSet::Range& range : facts.who_ended) {
    for (const wire::ProcessSet::Range& part : ended_.missing(range)) fresh.push_back(part);
    ended_.add(range);
  }
  facts.who_ended = std::move(fresh);
  std::erase_if(facts.exits,
                [this](const wire::ProcessExit& exit) { return exited_.contains(exit.process); });
  for (const wire::ProcessExit& exit : facts.exits) {
    exited_.insert(exit.process);
    exits_.push_back(exit);
  }
  if (!code_) code_ = facts.code;
  if (facts.first_ok) first_ok_ = std::min(*facts.first_ok, first_ok_.value_or(UINT32_MAX));
}

void Testimony::note(const wire::Message& message) {
  const auto* lost = std::get_if<wire::LinkLost>(&message);
  if ((lost != nullptr && !lost->processes.empty()) || std::holds_alternative<wire::AbortUp>(message))
    messages_.push_back(message);
}

void Testimony::forget_lost(const wire::ProcessSet& lost) {
  const auto is_known = [&](const wire::ProcessSet::Range& range) { return lost.missing(range).empty(); };
  std::erase_if(messages_, [&](const wire::Message& message) {
    const auto* link = std::get_if<wire::LinkLost>(&message);
    return link != nullptr && std::all_of(link->processes.begin(), link->processes.end(), is_known);
  });
  std::erase_if(exits_, [&](const wire::ProcessExit& exit) { return lost.contains(exit.process); });
}

wire::Facts Testimony::facts() const {
  wire::Facts facts;
  facts.who_ended = ended_.ranges();
  facts.exits = exits_;
  facts.code = code_;
  facts.first_ok = first_ok_;
  return facts;
}

}  // namespace charmtree::proto
