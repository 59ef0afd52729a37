// SPDX-License-Identifier: Apache-2.0
#include "tree/clients/pmi/process_mapping.hpp"

#include <fmt/format.h>

#include <map>

namespace charmtree::proto {

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

std::string process_mapping(const std::vector<wire::HostRun>& layout) {
  std::vector<Block> blocks;
  std::uint32_t host = 0;
  for (const wire::HostRun& run : layout) {
    append(blocks, {host, run.hosts, run.processes});
    host += run.hosts;
  }
  return text_of(blocks);
}

std::string process_mapping(const std::vector<wire::Share>& shares) {
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

/// MPICH 5 takes it for ambiguous if it finds what PMIx clients look for beside these, unless it is told
/// which. Intel's library speaks version 2 by one that it is told of (I_MPI_PMI_LIBRARY).
std::vector<std::string> pmi_variables(wire::MpiService::Pmi version, const ProcessPlace& place) {
  const bool is_second = version == wire::MpiService::Pmi::two;
  std::vector<std::string> variables{fmt::format("PMI_RANK={}", place.process - place.world.first),
                                     fmt::format("PMI_SIZE={}", place.world.size),
                                     fmt::format("MPIR_CVAR_PMI_VERSION={}", is_second ? 2 : 1),
                                     fmt::format("MPI_LOCALRANKID={}", place.rank),
                                     fmt::format("MPI_LOCALNRANKS={}", place.count)};
  if (is_second) variables.emplace_back("I_MPI_PMI=pmi2");
  if (version == wire::MpiService::Pmi::port) variables.push_back(fmt::format("PMI_ID={}", place.process));
  if (place.world.is_spawned()) variables.emplace_back("PMI_SPAWNED=1");
  return variables;
}

}  // namespace charmtree::proto
