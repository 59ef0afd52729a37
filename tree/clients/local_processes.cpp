// SPDX-License-Identifier: Apache-2.0
#include "tree/clients/local_processes.hpp"

#include <algorithm>
#include <iterator>

namespace charmtree::proto {

void JoinedProcesses::add(std::uint32_t process) {
  if (!runs_.empty() && process == runs_.back().first + runs_.back().size) {
    ++runs_.back().size;
    return;
  }
  by_number_.insert(first_behind(process), static_cast<std::uint32_t>(runs_.size()));
  runs_.push_back({process, size(), 1});
}

JoinedProcesses::Indices::const_iterator JoinedProcesses::first_behind(std::uint32_t process) const {
  const auto is_before = [&](std::uint32_t index) {
    const Run& run = runs_[index];
    return run.first <= process && process - run.first >= run.size;
  };
  return std::partition_point(by_number_.begin(), by_number_.end(), is_before);
}

const JoinedProcesses::Run* JoinedProcesses::find(std::uint32_t process) const {
  const auto found = first_behind(process);
  return found == by_number_.end() || runs_[*found].first > process ? nullptr : &runs_[*found];
}

std::uint32_t JoinedProcesses::place_of(std::uint32_t process) const {
  const Run& run = *find(process);
  return run.place + (process - run.first);
}

std::uint32_t JoinedProcesses::at(std::uint32_t place) const {
  const auto behind =
      std::upper_bound(runs_.begin(), runs_.end(), place,
                       [](std::uint32_t number, const Run& run) { return number < run.place; });
  const Run& run = *std::prev(behind);
  return run.first + (place - run.place);
}

std::uint32_t LocalProcesses::rank_of(std::uint32_t process) const {
  return is_first(process) ? process - first : count + joined.place_of(process);
}

LocalProcesses::Ranges LocalProcesses::ranges_among(const Ranges& ranges) const {
  const auto meet = [](const auto& before, const auto& behind) { return before.last >= behind.first; };
  if (std::adjacent_find(ranges.begin(), ranges.end(), meet) != ranges.end())
    return ranges_among(wire::ProcessSet{ranges}.ranges());
  Ranges here;
  const auto add = [&](std::uint32_t from, std::uint32_t to) { here.push_back({from, to}); };
  for (const auto& range : ranges) {
    if (count > 0 && range.first <= first + (count - 1) && first <= range.last)
      add(std::max(first, range.first), std::min(first + (count - 1), range.last));
    joined.intersect(range, add);
  }
  wire::fold(here);
  return here;
}

std::vector<std::uint32_t> LocalProcesses::among(const Ranges& ranges) const {
  std::vector<std::uint32_t> processes;
  for (const auto& [from, to] : ranges_among(ranges)) {
    for (std::uint32_t i = 0; i <= to - from; ++i) processes.push_back(from + i);
  }
  return processes;
}

LocalProcesses::Ranges LocalProcesses::ranges() const {
  Ranges all;
  if (count > 0) all.push_back({first, first + (count - 1)});
  for (const JoinedProcesses::Run& run : joined.runs()) {
    if (!all.empty() && all.back().last + 1 == run.first)
      all.back().last = run.first + (run.size - 1);
    else
      all.push_back({run.first, run.first + (run.size - 1)});
  }
  return all;
}

}  // namespace charmtree::proto
