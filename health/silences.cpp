// SPDX-License-Identifier: Apache-2.0
#include "health/silences.hpp"

#include <algorithm>
#include <utility>

namespace charmtree::proto {

using State = wire::Silence::State;

/// Who speaks again before anybody has read that he was silent has not been.
void Silences::on(const wire::Silence& told, Instant now) {
  const bool is_over = told.state == State::over;
  if (is_over)
    silent_.erase(told.process);
  else
    silent_[told.process] = told;
  if (is_over && untold_.erase(told.process) > 0) return;
  untold_[told.process] = told;
  due_ = earlier(due_, now + kTogether);
}

void Silences::gone(wire::ProcessSet::Range processes) {
  for (auto* map : {&silent_, &untold_})
    map->erase(map->lower_bound(processes.first), map->upper_bound(processes.last));
}

std::vector<Silences::News> Silences::take(Instant now) {
  std::vector<News> news;
  if (now < due_) return news;
  due_ = kNever;
  for (const State state : {State::hung, State::stopped, State::over}) {
    News each{state, {}, Duration::max()};
    for (const auto& [process, told] : untold_) {
      if (told.state != state) continue;
      each.processes.push_back(process);
      each.least = std::min(each.least, told.lasted);
    }
    if (!each.processes.empty()) news.push_back(std::move(each));
  }
  untold_.clear();
  return news;
}

wire::ProcessSet Silences::silent() const {
  wire::ProcessSet set;
  for (const auto& [process, told] : silent_) set.add(process);
  return set;
}

}  // namespace charmtree::proto
