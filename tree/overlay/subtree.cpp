// SPDX-License-Identifier: Apache-2.0
#include "tree/overlay/subtree.hpp"

#include <algorithm>
#include <utility>

namespace charmtree::proto {

void Subtree::add(const Host& host) {
  const Entry entry{kParentLink, host.first_process, host.processes, host.processes};
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
  if (link != kParentLink) link_processes_[link] += it->second.present;
}

void Subtree::give(const wire::Share& share) {
  const auto it = entries_.find(share.host);
  if (it == entries_.end() || share.processes == 0) return;
  Entry& entry = it->second;
  entry.first_process = share.first_process;
  entry.processes = share.processes;
  entry.told = 0;
  count_in(entry, share.processes);
  first_processes_.emplace(share.first_process, share.host);
  answered_ -= std::exchange(entry.answered, false) ? 1 : 0;
  registered_ -= std::exchange(entry.registered, false) ? 1 : 0;
}

void Subtree::renumber() {
  for (const auto& [host, entry] : entries_) {
    if (entry.link != kParentLink && entry.processes > 0)
      former_[entry.link].add({entry.first_process, entry.first_process + entry.processes - 1});
  }
  take_all();
}

void Subtree::number(Host& host) const {
  const Entry* entry = find(host.index);
  if (entry == nullptr) return;
  host.first_process = entry->first_process;
  host.processes = entry->processes;
}

void Subtree::await_start() {
  for (auto& [host, entry] : entries_) {
    if (entry.processes > 0 && !entry.failed) answered_ -= std::exchange(entry.answered, false) ? 1 : 0;
  }
}

void Subtree::take_all() {
  moved_.clear();
  moved_away_.clear();
  for (auto& [host, entry] : entries_) {
    entry.first_process = entry.processes = entry.present = 0;
    entry.answered = entry.registered = true;
  }
  answered_ = registered_ = entries_.size();
  first_processes_.clear();
  link_processes_.clear();
  processes_ = 0;
}

/// Every process is where it was first.
void Subtree::put_back_all() {
  moved_.clear();
  moved_away_.clear();
  link_processes_.clear();
  processes_ = 0;
  for (auto& [host, entry] : entries_) {
    entry.present = 0;
    count_in(entry, entry.processes);
  }
}

void Subtree::begin_run(bool numbered_late, bool anew) {
  former_.clear();
  numbered_late ? take_all() : put_back_all();
  answered_ = registered_ = 0;
  for (auto& [host, entry] : entries_) {
    entry.failed = entry.failed && !anew;
    entry.answered = entry.failed;
    entry.stamped = false;  // new launchers have times of their own
    entry.told = 0;
    entry.registered = entry.processes == 0;
    answered_ += entry.answered ? 1 : 0;
    registered_ += entry.registered ? 1 : 0;
  }
}

void Subtree::remove(std::uint32_t host) {
  const auto it = entries_.find(host);
  if (it == entries_.end()) return;
  count_out(it->second);
  processes_ -= it->second.present;
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
  told(host, Told::failure);
}

void Subtree::told(std::uint32_t host, Told what) {
  if (const auto it = entries_.find(host); it != entries_.end())
    it->second.told |= static_cast<std::uint8_t>(what);
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

void Subtree::moved(const wire::Share& share) {
  for (std::uint32_t process = share.first_process; process - share.first_process < share.processes;
       ++process) {
    if (const auto from = host_with(process); from != entries_.end()) {
      Entry& entry = from->second;
      --processes_;
      if (entry.link != kParentLink) {
        --link_processes_[entry.link];
        ++moved_away_[entry.link];
      }
      if (--entry.present == 0) registered(from->first);  // who has not yet will not
    }
    moved_.move(process, share.host);
    if (const auto to = entries_.find(share.host); to != entries_.end()) count_in(to->second, 1);
  }
}

Subtree::Entries::iterator Subtree::host_with(std::uint32_t process) {
  if (const auto host = moved_.host_of(process)) return entries_.find(*host);
  const auto it = first_processes_.upper_bound(process);
  if (it == first_processes_.begin()) return entries_.end();
  const auto host = entries_.find(std::prev(it)->second);
  return process - host->second.first_process < host->second.processes ? host : entries_.end();
}

void Subtree::count_in(Entry& entry, std::uint32_t processes) {
  entry.present += processes;
  processes_ += processes;
  if (entry.link != kParentLink) link_processes_[entry.link] += processes;
}

/// The host on which it was first; null: on none.
const Subtree::Entry* Subtree::first_entry_of(std::uint32_t process) const {
  auto it = first_processes_.upper_bound(process);
  if (it == first_processes_.begin()) return nullptr;
  const Entry& entry = entries_.at((--it)->second);
  return process - entry.first_process < entry.processes ? &entry : nullptr;
}

Subtree::Place Subtree::place_of(std::uint32_t process) const {
  if (const auto host = moved_.host_of(process)) return {find(*host), std::uint64_t{process} + 1};
  const Entry* entry = first_entry_of(process);
  std::uint64_t end = std::uint64_t{UINT32_MAX} + 1;
  if (entry != nullptr)
    end = std::uint64_t{entry->first_process} + entry->processes;
  else if (const auto next = first_processes_.upper_bound(process); next != first_processes_.end())
    end = next->first;
  if (const auto next = moved_.next_behind(process)) end = std::min<std::uint64_t>(end, *next);
  return {entry, end};
}

std::optional<LinkId> Subtree::route(std::uint32_t process) const {
  const Entry* entry = place_of(process).entry;
  if (entry == nullptr || entry->link == kParentLink) return {};
  return entry->link;
}

std::map<LinkId, std::vector<wire::ProcessSet::Range>> Subtree::split(
    const std::vector<wire::ProcessSet::Range>& processes) const {
  std::map<LinkId, std::vector<wire::ProcessSet::Range>> parts;
  for (const wire::ProcessSet::Range& range : processes) {
    for (std::uint64_t next = range.first; next <= range.last;) {
      const auto first = static_cast<std::uint32_t>(next);
      const Place place = place_of(first);
      const auto last = static_cast<std::uint32_t>(std::min<std::uint64_t>(range.last, place.end - 1));
      if (place.entry != nullptr && place.entry->link != kParentLink)
        parts[place.entry->link].push_back({first, last});
      next = place.end;
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
  const auto is_there = [&](const Entry* entry) {
    return entry != nullptr && (!link || entry->link == *link);
  };
  const std::uint64_t last = first_processes_.empty() ? 0 : first_processes_.rbegin()->first;
  for (std::uint64_t next = first_processes_.empty() ? 0 : first_processes_.begin()->first; next <= last;) {
    const Place place = place_of(static_cast<std::uint32_t>(next));
    if (is_there(place.entry)) return static_cast<std::uint32_t>(next);
    next = place.end;
  }
  for (const auto& [process, hosts] : moved_) {
    if (is_there(find(hosts.back()))) return process;
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
    const Place place = place_of(static_cast<std::uint32_t>(next));
    if (place.entry == nullptr || place.entry->link != link) return false;
    next = place.end;
  }
  return range.first <= range.last;
}

bool Subtree::has_owned_process(LinkId link, std::uint32_t process) const {
  const auto is_below = [&](const Entry* entry) { return entry != nullptr && entry->link == link; };
  if (is_below(first_entry_of(process))) return true;
  if (const auto former = former_.find(link); former != former_.end() && former->second.contains(process))
    return true;
  const auto moved = moved_.find(process);
  return moved != moved_.end() && std::any_of(moved->second.begin(), moved->second.end(),
                                              [&](std::uint32_t host) { return is_below(find(host)); });
}

std::uint32_t Subtree::most_processes_of(LinkId link) const {
  const auto there = link_processes_.find(link), away = moved_away_.find(link);
  return (there == link_processes_.end() ? 0 : there->second) +
         (away == moved_away_.end() ? 0 : away->second);
}

std::vector<std::uint32_t> Subtree::hosts_below(LinkId link) const {
  std::vector<std::uint32_t> hosts;
  for (const auto& [host, entry] : entries_) {
    if (entry.link == link) hosts.push_back(host);
  }
  return hosts;
}

std::vector<wire::ProcessSet::Range> Subtree::processes_below(LinkId link) const {
  std::vector<wire::ProcessSet::Range> ranges;
  for (const auto& [host, entry] : entries_) {
    if (entry.link != link || entry.processes == 0) continue;
    const std::uint64_t end = std::uint64_t{entry.first_process} + entry.processes;
    for (std::uint64_t next = entry.first_process; next < end;) {
      const auto first = static_cast<std::uint32_t>(next);
      next = place_of(first).end;
      if (!moved_.host_of(first)) ranges.push_back({first, static_cast<std::uint32_t>(next - 1)});
    }
  }
  for (const auto& [process, hosts] : moved_) {
    const Entry* entry = find(hosts.back());
    if (entry != nullptr && entry->link == link) ranges.push_back({process, process});
  }
  wire::fold(ranges);
  return ranges;
}

void Subtree::count_out(const Entry& entry) {
  if (entry.link != kParentLink) link_processes_[entry.link] -= entry.present;
}

}  // namespace charmtree::proto
