// SPDX-License-Identifier: Apache-2.0
#include "tree/job/replay_state.hpp"

#include <algorithm>
#include <utility>

#include "tree/base/handle.hpp"

namespace charmtree::proto {

void ReplayState::sift(wire::Facts& facts) {
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
  for (const wire::ProcessIds& told : facts.process_ids)
    (told.ids.size() == 1 ? ids_of_single_ : ids_of_hosts_)[told.first] = told;
}

void ReplayState::note(const wire::Message& message) {
  const bool matters = handle(
      message,  //
      [](const wire::LinkLost& m) { return !m.processes.empty(); }, [](const wire::AbortUp&) {});
  if (matters) messages_.push_back(message);
}

void ReplayState::forget_lost(const wire::ProcessSet& lost) {
  const auto is_known = [&](const wire::ProcessSet::Range& range) { return lost.missing(range).empty(); };
  std::erase_if(messages_, [&](const wire::Message& message) {
    return handle(message, [&](const wire::LinkLost& m) {
      return std::all_of(m.processes.begin(), m.processes.end(), is_known);
    });
  });
  std::erase_if(exits_, [&](const wire::ProcessExit& exit) { return lost.contains(exit.process); });
}

wire::Facts ReplayState::facts() const {
  wire::Facts facts;
  facts.who_ended = ended_.ranges();
  facts.exits = exits_;
  facts.code = code_;
  facts.first_ok = first_ok_;
  for (const auto* all : {&ids_of_hosts_, &ids_of_single_}) {
    for (const auto& [first, told] : *all) facts.process_ids.push_back(told);
  }
  return facts;
}

}  // namespace charmtree::proto
