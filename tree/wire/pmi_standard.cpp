// SPDX-License-Identifier: Apache-2.0
#include "tree/wire/pmi_standard.hpp"

#include <fmt/format.h>

#include <map>

namespace charmtree::wire {

namespace {

/// Hosts with consecutive numbers, from `first` on, that have so many processes each.
struct Block {
  std::uint32_t first = 0, hosts = 0, processes = 0;
};

void append(std::vector<Block>& blocks, const Block& next) {
  const bool goes_on = !blocks.empty() && blocks.back().processes == next.processes &&
                       blocks.back().first + blocks.back().hosts == next.first;
  if (goes_on)
    blocks.back().hosts += next.hosts;
  else
    blocks.push_back(next);
}

std::string text_of(const std::vector<Block>& blocks) {
  if (blocks.empty()) return {};
  std::string text = "(vector";
  for (const Block& each : blocks) text += fmt::format(",({},{},{})", each.first, each.hosts, each.processes);
  return text + ")";
}

}  // namespace

std::string process_mapping(const std::vector<HostRun>& layout) {
  std::vector<Block> blocks;
  std::uint32_t host = 0;
  for (const HostRun& run : layout) {
    append(blocks, {host, run.hosts, run.processes});
    host += run.hosts;
  }
  return text_of(blocks);
}

std::string process_mapping(const std::vector<Share>& shares) {
  std::vector<Block> blocks;
  std::map<std::uint32_t, std::uint32_t> numbers;  // of hosts, as they come
  for (auto share = shares.begin(); share != shares.end();) {
    const auto known = numbers.emplace(share->host, static_cast<std::uint32_t>(numbers.size())).first;
    Block block{known->second, 1, 0};
    for (const std::uint32_t host = share->host; share != shares.end() && share->host == host; ++share)
      block.processes += share->processes;
    append(blocks, block);
  }
  return text_of(blocks);
}

}  // namespace charmtree::wire
