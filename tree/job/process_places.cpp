// SPDX-License-Identifier: Apache-2.0
#include "tree/job/process_places.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "tree/wire/fold.hpp"

namespace charmtree::proto {

void ProcessPlaces::move(const wire::Share& share) {
  for (std::uint32_t i = 0; i < share.processes; ++i) moved_.move(share.first_process + i, share.host);
}

const Host& ProcessPlaces::host_of(std::uint32_t process) const {
  if (const auto moved = moved_.host_of(process)) return hosts_[*moved];
  const auto behind = std::upper_bound(
      begun_.begin(), begun_.end(), process,
      [](std::uint32_t number, const wire::Share& share) { return number < share.first_process; });
  if (behind != begun_.begin()) return hosts_[std::prev(behind)->host];
  const Host* host = charmtree::host_of(hosts_, process);
  return host != nullptr ? *host : hosts_.back();
}

std::string ProcessPlaces::names_of(const wire::ProcessSet& processes) const {
  std::set<std::uint32_t> hosts;
  for (const wire::ProcessSet::Range& range : processes.ranges()) {
    for (std::uint64_t process = range.first; process <= range.last; ++process)
      hosts.insert(host_of(static_cast<std::uint32_t>(process)).index);
  }
  std::vector<std::string> names;
  for (const std::uint32_t host : hosts) names.push_back(hosts_[host].name);
  return wire::fold_names(names);
}

bool ProcessPlaces::has_one_each() const {
  return begun_.empty() && moved_.begin() == moved_.end() &&
         std::all_of(hosts_.begin(), hosts_.end(), [](const Host& host) { return host.processes <= 1; });
}

std::vector<std::uint32_t> ProcessPlaces::processes_on(std::uint32_t host) const {
  std::vector<std::uint32_t> processes;
  const Host& there = hosts_[host];
  for (std::uint32_t i = 0; i < there.processes; ++i) {
    if (!moved_.host_of(there.first_process + i)) processes.push_back(there.first_process + i);
  }
  for (const wire::Share& share : begun_) {
    for (std::uint32_t i = 0; i < share.processes && share.host == host; ++i)
      processes.push_back(share.first_process + i);
  }
  for (const auto& [process, hosts] : moved_) {
    if (hosts.back() == host) processes.push_back(process);
  }
  std::sort(processes.begin(), processes.end());
  return processes;
}

std::vector<std::uint32_t> ProcessPlaces::unfinished_on(std::uint32_t host) const {
  std::vector<std::uint32_t> processes = processes_on(host);
  std::erase_if(processes, [&](std::uint32_t process) { return finished_.contains(process); });
  return processes;
}

bool ProcessPlaces::any_finished_on(std::uint32_t host) const {
  return processes_on(host).size() != unfinished_on(host).size();
}

std::string ProcessPlaces::about(std::uint32_t process, Phase phase, const std::string& what) const {
  return fmt::format("{}: {}: process {}: {}", host_of(process).name, name(phase), process, what);
}

}  // namespace charmtree::proto
