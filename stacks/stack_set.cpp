// SPDX-License-Identifier: Apache-2.0
#include "stacks/stack_set.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace charmtree::stacks {

namespace {
constexpr std::string_view kLeftOut = "...";
}  // namespace

void StackSet::add(std::uint32_t process, const std::vector<std::string>& frames, Motion motion) {
  Key key{{}, motion};
  constexpr std::size_t kHalf = kMostStackFrames / 2;
  const bool is_long = frames.size() > kMostStackFrames;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (!is_long || i + 1 < kHalf || i + kHalf >= frames.size()) key.first.push_back(place_of(frames[i]));
    if (is_long && i + 1 == kHalf) key.first.push_back(place_of(kLeftOut));
  }
  put(std::move(key), 1, {{process, process}});
  fit();
}

void StackSet::add_unread(const Ranges& processes, std::string_view why) {
  if (processes.empty()) return;
  const auto size = static_cast<std::uint32_t>(size_of(processes));
  put({{place_of(why)}, Motion::unread}, size, processes);
  fit();
}

void StackSet::add(const Stacks& more) {
  for (const StackGroup& group : more.groups) {
    Key key{{}, group.motion};
    for (const std::uint32_t frame : group.frames) key.first.push_back(place_of(more.names[frame]));
    put(std::move(key), group.processes, group.which);
  }
  fit();
}

std::uint32_t StackSet::place_of(std::string_view name) {
  name = name.substr(0, kMostStackName);
  const auto found = places_.find(name);
  if (found != places_.end()) return found->second;
  const auto place = static_cast<std::uint32_t>(names_.size());
  names_.emplace_back(name);
  places_.emplace(name, place);
  return place;
}

std::size_t StackSet::names_used() const {
  std::set<std::uint32_t> used;
  for (const auto& [key, members] : groups_) used.insert(key.first.begin(), key.first.end());
  return used.size();
}

void StackSet::fit() {
  const auto is_small = [&] {
    return groups_.size() <= kMostStackGroups &&
           (names_.size() <= kMostStackNames || names_used() <= kMostStackNames);
  };
  if (is_small()) return;
  std::size_t depth = 0;
  for (const auto& [key, members] : groups_) depth = std::max(depth, key.first.size());
  while (depth > 0 && !is_small()) {
    deepest_ = --depth;
    for (const auto& [key, members] : std::exchange(groups_, {}))
      put(key, members.processes(), members.which());
  }
  StackSet anew;
  anew.deepest_ = deepest_;
  anew.add(take());
  *this = std::move(anew);
}

void StackSet::put(Key key, std::uint32_t processes, const Ranges& which) {
  if (key.first.size() > deepest_) key.first.resize(deepest_);
  groups_[std::move(key)].add(processes, which);
}

Stacks StackSet::take() {
  Stacks all;
  std::map<std::uint32_t, std::uint32_t> places;
  for (auto& [key, members] : groups_) {
    StackGroup group{{}, key.second, members.processes(), members.which()};
    for (const std::uint32_t frame : key.first) {
      const auto [place, is_new] = places.try_emplace(frame, static_cast<std::uint32_t>(all.names.size()));
      if (is_new) all.names.push_back(names_[frame]);
      group.frames.push_back(place->second);
    }
    all.groups.push_back(std::move(group));
  }
  std::stable_sort(all.groups.begin(), all.groups.end(),
                   [](const auto& a, const auto& b) { return a.processes > b.processes; });
  *this = {};
  return all;
}

}  // namespace charmtree::stacks
