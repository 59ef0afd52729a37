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

}  // namespace

bool is_of_host(const wire::Fence& fence) {
  return fence.name.starts_with(kOfHost);
}

std::optional<PmiGroup> PmiGroup::read(std::string_view text, std::uint32_t process, const wire::World& world,
                                       const LocalProcesses& local) {
  PmiGroup group{{kPmiService, {world.range()}, 1, {}}};
  const std::string_view who = text.substr(0, text.find(':'));
  if (who.size() < text.size() && !read_whole(text.substr(who.size() + 1), group.tag)) return {};
  wire::Fence& fence = group.fence;
  if (who == kOfHost)
    fence.processes = local.ranges_among({world.range()});
  else if (!who.empty() && who != "WORLD")
    fence.processes = read_ranks(who, world);
  const bool is_plain = (who.empty() || who == "WORLD") && group.tag == 0;
  const auto here = local.ranges_among(fence.processes);
  const bool all_are_here = wire::size_of(here) == wire::size_of(fence.processes);
  if (!is_plain) fence.name = std::string{all_are_here ? kOfHost : ""} + ":" + std::to_string(group.tag);
  if (!wire::is_sound(fence) || wire::ProcessSet{here}.missing({process, process}).size() > 0) return {};
  return group;
}

}  // namespace charmtree::proto
