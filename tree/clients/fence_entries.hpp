// SPDX-License-Identifier: Apache-2.0
// The fences that the processes of a host are in. A process may be in several at a time, of different groups
// or names, and enter one anew before others have left it: entries are in epochs, of which the first is left
// first. A fence is entered for the host when all that live here are in.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tree/clients/client_server.hpp"
#include "tree/clients/group_fences.hpp"

namespace charmtree::proto {

/// `Entry`: what a server must know of a process once the fence is over; it has the member `process`.
template <class Entry>
class FenceEntries {
public:
  /// All that live here have entered this fence, or it is over for them.
  struct Step {
    wire::Fence fence;
    std::vector<Entry> entries = {};
    bool is_over = false;
    std::string failure = {};  // why it has not gone well
    bool is_plain() const { return fence.name.empty(); }
  };

  /// `first`: the first fence of its group and name, in which the process is. Empty: it is in the next one
  /// that it has not entered; or why it may not be.
  std::string enter(const wire::Fence& first, Entry entry) {
    if (entered(entry.process) >= wire::kMostFencesAtOnce) return "it is in too many barriers";
    if (groups_.size() >= GroupFences::kMost && !groups_.contains(first))
      return "too many groups have barriers";
    Group& group = groups_[first];
    const auto without = std::find_if(group.epochs.begin(), group.epochs.end(),
                                      [&](const Epoch& epoch) { return !epoch.contains(entry.process); });
    Epoch& epoch = without == group.epochs.end() ? group.epochs.emplace_back() : *without;
    ++entered_[entry.process];
    epoch.emplace(entry.process, std::move(entry));
    return {};
  }
  /// In how many it is.
  std::size_t entered(std::uint32_t process) const {
    const auto found = entered_.find(process);
    return found == entered_.end() ? 0 : found->second;
  }
  void leave(std::uint32_t process) {
    entered_.erase(process);
    for (auto& [fence, group] : groups_) {
      for (Epoch& epoch : group.epochs) epoch.erase(process);
    }
  }
  /// A fence of the job is over. False: nobody here is in it, so that what it brings is for nobody.
  bool over(const FenceDone& down, const LocalProcesses& local) {
    const wire::Fence first = down.fence.first();
    const bool has_failed = !down.failure.empty();
    if (has_failed && groups_.size() < GroupFences::kMost && local.count_among(first.processes) > 0)
      groups_.try_emplace(first);
    const auto found = groups_.find(first);
    if (found == groups_.end()) return false;
    Group& group = found->second;
    if (has_failed) group.fences.fail(down.fence.number, down.failure);
    if (!group.is_waiting || down.fence.number != group.fences.entered) return false;
    group.outcome = down.failure;
    return true;
  }
  /// What follows from all that. `lost`: those that nobody waits for. `is_of_host(fence)`: nobody of another
  /// host is in it, so that it is none of the job's.
  template <class IsOfHost>
  std::vector<Step> settle(const LocalProcesses& local, const wire::ProcessSet& lost, IsOfHost is_of_host) {
    std::vector<Step> steps;
    for (auto& each : groups_) settle(each, local, lost, is_of_host, steps);
    return steps;
  }
  /// The same of the group of this fence alone, the only one of which anything is new.
  template <class IsOfHost>
  std::vector<Step> settle(const wire::Fence& fence, const LocalProcesses& local,
                           const wire::ProcessSet& lost, IsOfHost is_of_host) {
    std::vector<Step> steps;
    const auto found = groups_.find(fence.first());
    if (found != groups_.end()) settle(*found, local, lost, is_of_host, steps);
    return steps;
  }

private:
  using Epoch = std::map<std::uint32_t, Entry>;  // by process
  struct Group {
    GroupFences fences = {};
    bool is_waiting = false;  // in the last one that was entered
    std::deque<Epoch> epochs = {};
    std::optional<std::string> outcome = {};  // of the last one; empty: it has gone well
  };
  using Groups = std::map<wire::Fence, Group>;  // by the first fence of each

  template <class IsOfHost>
  void settle(typename Groups::value_type& each, const LocalProcesses& local, const wire::ProcessSet& lost,
              IsOfHost is_of_host, std::vector<Step>& steps) {
    Group& group = each.second;
    while (!group.epochs.empty()) {
      if (!group.is_waiting) {
        if (!begins(each, local, lost)) break;
        group.is_waiting = true;
        if (!group.fences.enter())
          group.outcome = group.fences.failure;
        else if (is_of_host(each.first))
          group.outcome = loss_of(each.first, lost);
        else
          steps.push_back(step(each, false));
      }
      if (!group.outcome) break;
      steps.push_back(step(each, true));
      steps.back().failure = std::move(*group.outcome);
      group.outcome.reset();
      group.is_waiting = false;
      for (const auto& [process, entry] : group.epochs.front()) {
        const auto count = entered_.find(process);
        if (count != entered_.end() && --count->second == 0) entered_.erase(count);
      }
      group.epochs.pop_front();
    }
  }
  /// All that live here have entered the next one. With a lost process it fails, whoever else would come.
  static bool begins(const typename Groups::value_type& each, const LocalProcesses& local,
                     const wire::ProcessSet& lost) {
    const auto& [fence, group] = each;
    const std::size_t entered = group.epochs.front().size();
    if (entered == 0 || entered == wire::size_of(fence.processes)) return entered > 0;
    return entered == local.count_among(fence.processes) ||
           wire::first_common(fence.processes, lost).has_value();
  }
  static Step step(const typename Groups::value_type& each, bool is_over) {
    const auto& [fence, group] = each;
    Step step{fence};
    step.is_over = is_over;
    step.fence.number = group.fences.entered;
    for (const auto& [process, entry] : group.epochs.front()) step.entries.push_back(entry);
    return step;
  }

  Groups groups_;
  std::map<std::uint32_t, std::size_t> entered_;  // of how many fences a process is in
};

}  // namespace charmtree::proto
