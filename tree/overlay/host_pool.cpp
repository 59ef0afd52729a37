// SPDX-License-Identifier: Apache-2.0
#include "tree/overlay/host_pool.hpp"

#include <algorithm>
#include <iterator>
#include <map>

namespace charmtree::proto {

namespace {

/// K + K^2 + ... + K^D, saturating.
std::uint64_t capacity(std::uint64_t branching, std::uint32_t levels) {
  std::uint64_t total = 0, width = 1;
  for (std::uint32_t d = 0; d < levels && total < UINT32_MAX; ++d) {
    width *= branching;
    total += width;
  }
  return total;
}

std::uint64_t power(std::uint64_t base, std::uint32_t exponent) {
  std::uint64_t value = 1;
  while (exponent-- > 0 && value < UINT32_MAX) value *= base;
  return value;
}

/// Moves the names of each machine to its first one.
void gather_machines(std::vector<Host>& hosts) {
  std::map<std::uint32_t, std::size_t> first;
  const auto place = [&](const Host& host) {
    return host.machine == 0 ? std::size_t{host.index} : first.at(host.machine);
  };
  for (const Host& host : hosts) {
    if (host.machine != 0) first.emplace(host.machine, host.index);
  }
  if (first.empty()) return;
  std::stable_sort(hosts.begin(), hosts.end(),
                   [&](const Host& a, const Host& b) { return place(a) < place(b); });
}

bool same_machine(const Host& a, const Host& b) {
  return a.machine != 0 && a.machine == b.machine;
}

}  // namespace

wire::Shape choose_shape(std::uint32_t hosts, std::uint32_t branching, std::uint32_t levels) {
  if (branching != 0) return {branching, levels};
  if (levels == 0) levels = 2;
  std::uint32_t k = 1;
  while (power(k, levels) < hosts) ++k;
  return {k, levels};
}

bool widens(const wire::Shape& shape, std::uint32_t hosts) {
  return shape.levels != 0 && capacity(shape.branching, shape.levels) < hosts;
}

void HostPool::add(std::vector<Host> hosts) {
  if (hosts.empty()) return;
  if (is_late()) {
    gather_machines(hosts);
    rest_.insert(rest_.end(), std::make_move_iterator(hosts.begin()), std::make_move_iterator(hosts.end()));
    return;
  }
  const bool last_level = shape_.levels != 0 && level_ + 1 >= shape_.levels;
  std::size_t parts = hosts.size();
  if (!last_level) parts = std::min<std::size_t>(parts, shape_.branching);
  auto next = std::make_move_iterator(hosts.begin());
  std::size_t left = hosts.size();
  for (; parts > 0; --parts) {
    const std::size_t size = (left + parts - 1) / parts;
    parts_.emplace_back(next, next + static_cast<std::ptrdiff_t>(size));
    next += static_cast<std::ptrdiff_t>(size);
    left -= size;
  }
}

void HostPool::add_single(Host host) {
  parts_.emplace_back();
  parts_.back().push_back(std::move(host));
}

std::vector<Host> HostPool::split(std::size_t count) {
  const auto apart = [](auto host) { return !same_machine(*(host - 1), *host); };
  auto from = rest_.end() - static_cast<std::ptrdiff_t>(std::min(count, rest_.size()));
  while (from != rest_.begin() && from != rest_.end() && !apart(from)) --from;
  if (from == rest_.begin() && count < rest_.size()) {  // they are begun here: ours
    ++from;
    while (from != rest_.end() && !apart(from)) ++from;
  }
  std::vector<Host> hosts{std::make_move_iterator(from), std::make_move_iterator(rest_.end())};
  rest_.erase(from, rest_.end());
  return hosts;
}

std::vector<Host> HostPool::clear() {
  for (auto& [host, share] : taken_) parts_.push_back(std::move(share));
  parts_.push_back(std::move(rest_));
  std::vector<Host> hosts;
  for (Part& part : parts_)
    hosts.insert(hosts.end(), std::make_move_iterator(part.begin()), std::make_move_iterator(part.end()));
  rest_.clear();
  parts_.clear();
  taken_.clear();
  return hosts;
}

std::optional<Host> HostPool::take() {
  if (parts_.empty() && !rest_.empty()) {
    Host host = std::move(rest_.front());
    rest_.pop_front();
    return host;
  }
  if (parts_.empty()) return {};
  Part part = std::move(parts_.front());
  parts_.pop_front();
  Host host = std::move(part.front());
  part.pop_front();
  taken_.emplace_back(host.index, std::move(part));
  return host;
}

std::vector<Host> HostPool::share(std::uint32_t host) {
  const auto it =
      std::find_if(taken_.begin(), taken_.end(), [&](const auto& entry) { return entry.first == host; });
  if (it == taken_.end()) return {};
  std::vector<Host> hosts{std::make_move_iterator(it->second.begin()),
                          std::make_move_iterator(it->second.end())};
  taken_.erase(it);
  return hosts;
}

void HostPool::failed(std::uint32_t host) {
  std::vector<Host> orphans = share(host);
  if (orphans.empty()) return;
  parts_.emplace_front(std::make_move_iterator(orphans.begin()), std::make_move_iterator(orphans.end()));
}

std::size_t HostPool::waiting() const {
  std::size_t hosts = rest_.size();
  for (const Part& part : parts_) hosts += part.size();
  for (const auto& [host, part] : taken_) hosts += part.size();
  return hosts;
}

}  // namespace charmtree::proto
