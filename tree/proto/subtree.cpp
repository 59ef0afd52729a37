// SPDX-License-Identifier: Apache-2.0
#include "tree/proto/subtree.hpp"

#include <algorithm>
#include <utility>

namespace charmtree::proto {

void Subtree::add(const Host& host) {
  const Entry entry{kParentLink, host.first_process, host.processes};
  if (!entries_.emplace(host.index, entry).second) return;
  processes_ += host.processes;
  if (host.processes > 0)
    first_processes_.emplace(host.first_process, host.index);
  else
    registered(host.index);  // nobody there will
}

void Subtree::bind(std::uint32_t host, LinkId link) {
  const auto it = entries_.find(host);
  if (it == entries_.end()) return;
  count_out(it->second);
  it->second.link = link;
  if (link != kParentLink) link_processes_[link] += it->second.processes;
}

void Subtree::give(const wire::Share& share) {
  const auto it = entries_.find(share.host);
  if (it == entries_.end() || share.processes == 0) return;
  Entry& entry = it->second;
  entry.first_process = share.first_process;
  entry.processes = share.processes;
  processes_ += share.processes;
  if (entry.link != kParentLink) link_processes_[entry.link] += share.processes;
  first_processes_.emplace(share.first_process, share.host);
  answered_ -= std::exchange(entry.answered, false) ? 1 : 0;
  registered_ -= std::exchange(entry.registered, false) ? 1 : 0;
}

void Subtree::take_all() {
  for (auto& [host, entry] : entries_) {
    entry.first_process = entry.processes = 0;
    entry.answered = entry.registered = true;
  }
  answered_ = registered_ = entries_.size();
  first_processes_.clear();
  link_processes_.clear();
  processes_ = 0;
}

void Subtree::begin_run(bool numbered_late) {
  if (numbered_late) take_all();
  answered_ = registered_ = 0;
  for (auto& [host, entry] : entries_) {
    entry.answered = entry.failed;
    entry.stamped = false;  // new launchers have times of their own
    entry.registered = entry.processes == 0;
    answered_ += entry.answered ? 1 : 0;
    registered_ += entry.registered ? 1 : 0;
  }
}

void Subtree::remove(std::uint32_t host) {
  const auto it = entries_.find(host);
  if (it == entries_.end()) return;
  count_out(it->second);
  processes_ -= it->second.processes;
  answered_ -= it->second.answered ? 1 : 0;
  registered_ -= it->second.registered ? 1 : 0;
  if (it->second.processes > 0) first_processes_.erase(it->second.first_process);
  entries_.erase(it);
}

void Subtree::answered(std::uint32_t host) {
  const auto it = entries_.find(host);
  if (it == entries_.end() || it->second.answered) return;
  it->second.answered = true;
  ++answered_;
}

void Subtree::failed(std::uint32_t host) {
  answered(host);
  if (const auto it = entries_.find(host); it != entries_.end()) it->second.failed = true;
}

void Subtree::registered(std::uint32_t host) {
  const auto it = entries_.find(host);
  if (it == entries_.end() || it->second.registered) return;
  it->second.registered = true;
  ++registered_;
}

void Subtree::stamped(std::uint32_t host) {
  const auto it = entries_.find(host);
  if (it != entries_.end()) it->second.stamped = true;
}

void Subtree::started(const wire::StartedBy& told) {
  const auto it = entries_.find(told.host);
  if (it != entries_.end() && told.by != told.host) it->second.by = told.by;
}

std::vector<std::uint32_t> Subtree::children_of(std::uint32_t host) const {
  std::vector<std::uint32_t> children;
  for (const auto& [index, entry] : entries_) {
    if (entry.by == host) children.push_back(index);
  }
  return children;
}

std::vector<std::uint32_t> Subtree::all_below(std::uint32_t host) const {
  std::multimap<std::uint32_t, std::uint32_t> children;
  for (const auto& [index, entry] : entries_) {
    if (entry.by) children.emplace(*entry.by, index);
  }
  std::vector<std::uint32_t> all, ahead{host};
  while (!ahead.empty()) {
    const auto [begin, end] = children.equal_range(ahead.back());
    ahead.pop_back();
    for (auto child = begin; child != end; ++child) {
      all.push_back(child->second);
      ahead.push_back(child->second);
    }
    children.erase(begin, end);  // whatever has been told, nobody is below itself
  }
  return all;
}

void Subtree::move(std::uint32_t host, LinkId link) {
  for (const std::uint32_t below : all_below(host)) bind(below, link);
  bind(host, link);
}

bool Subtree::is_up(LinkId link) const {
  return std::all_of(entries_.begin(), entries_.end(),
                     [&](const auto& each) { return each.second.link != link || each.second.answered; });
}

const Subtree::Entry* Subtree::find(std::uint32_t host) const {
  const auto it = entries_.find(host);
  return it == entries_.end() ? nullptr : &it->second;
}

/// The host on which it is; null: on none.
const Subtree::Entry* Subtree::entry_of(std::uint32_t process) const {
  auto it = first_processes_.upper_bound(process);
  if (it == first_processes_.begin()) return nullptr;
  const Entry& entry = entries_.at((--it)->second);
  return process - entry.first_process < entry.processes ? &entry : nullptr;
}

std::optional<LinkId> Subtree::route(std::uint32_t process) const {
  const Entry* entry = entry_of(process);
  if (entry == nullptr || entry->link == kParentLink) return {};
  return entry->link;
}

std::map<LinkId, std::vector<wire::ProcessSet::Range>> Subtree::split(
    const std::vector<wire::ProcessSet::Range>& processes) const {
  std::map<LinkId, std::vector<wire::ProcessSet::Range>> parts;
  for (const wire::ProcessSet::Range& range : processes) {
    auto host = first_processes_.upper_bound(range.first);
    if (host != first_processes_.begin()) --host;
    for (; host != first_processes_.end() && host->first <= range.last; ++host) {
      const Entry& entry = entries_.at(host->second);
      const std::uint32_t first = std::max(range.first, entry.first_process);
      const std::uint32_t last = std::min(range.last, entry.first_process + entry.processes - 1);
      if (first <= last && entry.link != kParentLink) parts[entry.link].push_back({first, last});
    }
  }
  for (auto& [link, ranges] : parts) wire::fold(ranges);
  return parts;
}

std::map<LinkId, std::vector<wire::ProcessSet::Range>> Subtree::links_with_processes() const {
  std::map<LinkId, std::vector<wire::ProcessSet::Range>> links;
  for (const auto& [link, processes] : link_processes_) {
    if (processes > 0) links[link];
  }
  return links;
}

std::uint32_t Subtree::lowest_process(std::optional<LinkId> link) const {
  for (const auto& [process, host] : first_processes_) {
    if (!link || entries_.at(host).link == *link) return process;
  }
  return 0;
}

bool Subtree::owns(LinkId link, std::uint32_t host) const {
  const Entry* entry = find(host);
  return entry != nullptr && entry->link == link;
}

bool Subtree::owns_process(LinkId link, std::uint32_t process) const {
  return route(process) == link;
}

bool Subtree::owns_processes(LinkId link, wire::ProcessSet::Range range) const {
  for (std::uint64_t next = range.first; next <= range.last;) {
    const Entry* entry = entry_of(static_cast<std::uint32_t>(next));
    if (entry == nullptr || entry->link != link) return false;
    next = std::uint64_t{entry->first_process} + entry->processes;
  }
  return range.first <= range.last;
}

std::uint32_t Subtree::processes_of(LinkId link) const {
  const auto it = link_processes_.find(link);
  return it == link_processes_.end() ? 0 : it->second;
}

std::vector<wire::ProcessSet::Range> Subtree::processes_below(LinkId link) const {
  std::vector<wire::ProcessSet::Range> ranges;
  for (const auto& [host, entry] : entries_) {
    if (entry.link == link && entry.processes > 0)
      ranges.push_back({entry.first_process, entry.first_process + entry.processes - 1});
  }
  wire::fold(ranges);
  return ranges;
}

void Subtree::count_out(const Entry& entry) {
  if (entry.link != kParentLink) link_processes_[entry.link] -= entry.processes;
}

}  // namespace charmtree::proto
