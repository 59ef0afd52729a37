// SPDX-License-Identifier: Apache-2.0
#include "tree/clients/pmi/pmi_barriers.hpp"

#include <algorithm>
#include <utility>

#include "tree/wire/words.hpp"

namespace charmtree::proto {

namespace {

/// Of a group that nobody of another host is in: it is no fence of the job.
constexpr std::string_view kOfHost = "NODE";

std::vector<wire::ProcessSet::Range> ranges_of(const std::vector<std::uint32_t>& processes) {
  std::vector<wire::ProcessSet::Range> ranges;
  for (const std::uint32_t process : processes) ranges.push_back({process, process});
  wire::fold(ranges);
  return ranges;
}

/// Empty: they are no list of ranks, each named once.
std::vector<wire::ProcessSet::Range> read_ranks(std::string_view list, const wire::World& world) {
  std::vector<std::uint32_t> processes;
  for (const std::string& word : split_list(list)) {
    std::uint32_t rank = 0;
    if (!read_whole(word, rank) || rank >= world.size) return {};
    processes.push_back(world.first + rank);
  }
  std::sort(processes.begin(), processes.end());
  const bool are_different = std::adjacent_find(processes.begin(), processes.end()) == processes.end();
  return are_different ? ranges_of(processes) : std::vector<wire::ProcessSet::Range>{};
}

bool is_of_host(const wire::Fence& fence) {
  return fence.name.starts_with(kOfHost);
}

}  // namespace

std::optional<PmiGroup> PmiGroup::read(std::string_view text, std::uint32_t process, const wire::World& world,
                                       const LocalProcesses& local) {
  PmiGroup group{{kPmiService, {world.range()}, 1, {}}};
  const std::string_view who = text.substr(0, text.find(':'));
  if (who.size() < text.size() && !read_whole(text.substr(who.size() + 1), group.tag)) return {};
  wire::Fence& fence = group.fence;
  if (who == kOfHost)
    fence.processes = ranges_of(local.among({world.range()}));
  else if (!who.empty() && who != "WORLD")
    fence.processes = read_ranks(who, world);
  const bool is_plain = (who.empty() || who == "WORLD") && group.tag == 0;
  const std::vector<std::uint32_t> here = local.among(fence.processes);
  const bool all_are_here = here.size() == wire::size_of(fence.processes);
  if (!is_plain) fence.name = std::string{all_are_here ? kOfHost : ""} + ":" + std::to_string(group.tag);
  if (!wire::is_sound(fence) || !std::binary_search(here.begin(), here.end(), process)) return {};
  return group;
}

std::string PmiBarriers::enter(PmiGroup group, Entry entry) {
  if (entered(entry.process) >= wire::kMostFencesAtOnce) return "it is in too many barriers";
  if (barriers_.size() >= GroupFences::kMost && !barriers_.contains(group.fence))
    return "too many groups have barriers";
  Barrier& barrier = barriers_[std::move(group.fence)];
  barrier.tag = group.tag;
  const auto without = std::find_if(barrier.epochs.begin(), barrier.epochs.end(),
                                    [&](const auto& epoch) { return !epoch.contains(entry.process); });
  auto& epoch = without == barrier.epochs.end() ? barrier.epochs.emplace_back() : *without;
  epoch.emplace(entry.process, std::move(entry));
  return {};
}

std::size_t PmiBarriers::entered(std::uint32_t process) const {
  std::size_t entries = 0;
  for (const auto& [fence, barrier] : barriers_) {
    for (const auto& epoch : barrier.epochs) entries += epoch.contains(process) ? 1 : 0;
  }
  return entries;
}

void PmiBarriers::leave(std::uint32_t process) {
  for (auto& [fence, barrier] : barriers_) {
    for (auto& epoch : barrier.epochs) epoch.erase(process);
  }
}

bool PmiBarriers::over(const wire::FenceDown& down, const LocalProcesses& local) {
  const wire::Fence first = down.fence.first();
  const bool has_failed = !down.failure.empty();
  if (has_failed && barriers_.size() < GroupFences::kMost && !local.among(first.processes).empty())
    barriers_.try_emplace(first);
  const auto found = barriers_.find(first);
  if (found == barriers_.end()) return false;
  Barrier& barrier = found->second;
  if (has_failed) barrier.fences.fail(down.fence.number, down.failure);
  if (!barrier.is_waiting || down.fence.number != barrier.fences.entered) return false;
  barrier.outcome = down.failure;
  return true;
}

/// All that live here have entered the next one.
bool PmiBarriers::begins(const Barriers::value_type& each, const LocalProcesses& local,
                         const wire::ProcessSet& lost) {
  const auto& [fence, barrier] = each;
  const std::vector<std::uint32_t> here = local.among(fence.processes);
  const auto living =
      std::count_if(here.begin(), here.end(), [&](std::uint32_t process) { return !lost.contains(process); });
  const std::size_t entered = barrier.epochs.front().size();
  return entered > 0 && entered >= static_cast<std::size_t>(living);
}

PmiBarriers::Step PmiBarriers::step(const Barriers::value_type& each, bool is_over) {
  const auto& [fence, barrier] = each;
  Step step{fence, barrier.tag, {}, is_over};
  step.fence.number = barrier.fences.entered;
  for (const auto& [process, entry] : barrier.epochs.front()) step.entries.push_back(entry);
  return step;
}

std::vector<PmiBarriers::Step> PmiBarriers::settle(const LocalProcesses& local,
                                                   const wire::ProcessSet& lost) {
  std::vector<Step> steps;
  for (auto& each : barriers_) {
    Barrier& barrier = each.second;
    while (!barrier.epochs.empty()) {
      if (!barrier.is_waiting) {
        if (!begins(each, local, lost)) break;
        barrier.is_waiting = true;
        if (!barrier.fences.enter())
          barrier.outcome = barrier.fences.failure;
        else if (is_of_host(each.first))
          barrier.outcome = loss_of(each.first, lost);
        else
          steps.push_back(step(each, false));
      }
      if (!barrier.outcome) break;
      steps.push_back(step(each, true));
      steps.back().failure = std::move(*barrier.outcome);
      barrier.outcome.reset();
      barrier.is_waiting = false;
      barrier.epochs.pop_front();
    }
  }
  return steps;
}

}  // namespace charmtree::proto
