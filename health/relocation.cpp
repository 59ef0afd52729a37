// SPDX-License-Identifier: Apache-2.0
#include "health/relocation.hpp"

#include <algorithm>
#include <utility>

namespace charmtree::proto {

void Relocation::lost(std::uint32_t host, std::vector<std::uint32_t> processes, Instant now, bool bounded) {
  if (processes.empty()) return;
  groups_[host] = {std::move(processes), now + bound_, bounded || bound_ == Duration{0}};
}

void Relocation::fenced(std::uint32_t host) {
  if (const auto group = groups_.find(host); group != groups_.end())
    group->second = {std::move(group->second.processes), Instant::min()};
}

std::optional<std::uint32_t> Relocation::take_hopeless(Instant now) {
  const auto is = [&](const auto& group) { return !group.second.is_proof && now >= group.second.dead_by; };
  const auto found = std::find_if(groups_.begin(), groups_.end(), is);
  if (found == groups_.end()) return {};
  const std::uint32_t process = found->second.processes.front();
  groups_.erase(found);
  return process;
}

std::vector<std::vector<std::uint32_t>> Relocation::take(Instant now) {
  std::vector<std::vector<std::uint32_t>> dead;
  for (auto group = groups_.begin(); group != groups_.end();) {
    if (now < group->second.dead_by || !group->second.is_proof) {
      ++group;
      continue;
    }
    dead.push_back(std::move(group->second.processes));
    group = groups_.erase(group);
  }
  return dead;
}

Instant Relocation::next_deadline() const {
  Instant deadline = kNever;
  for (const auto& [host, group] : groups_) deadline = earlier(deadline, group.dead_by);
  return deadline;
}

std::vector<wire::Share> shelter(const std::vector<std::uint32_t>& processes, std::vector<Shelter>& hosts) {
  const auto fewest = [&] {
    return std::min_element(hosts.begin(), hosts.end(),
                            [](const Shelter& a, const Shelter& b) { return a.processes < b.processes; });
  };
  const auto first = fewest();
  const bool is_idle = first->processes == 0;
  std::vector<wire::Share> shares;
  for (const std::uint32_t process : processes) {
    const auto host = is_idle ? first : fewest();
    ++host->processes;
    const bool goes_on = !shares.empty() && shares.back().host == host->host &&
                         shares.back().first_process + shares.back().processes == process;
    if (goes_on)
      ++shares.back().processes;
    else
      shares.push_back({host->host, process, 1});
  }
  return shares;
}

}  // namespace charmtree::proto
