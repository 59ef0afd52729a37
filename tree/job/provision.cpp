// SPDX-License-Identifier: Apache-2.0
#include "tree/job/provision.hpp"

#include <fmt/format.h>

#include <array>

#include "tree/wire/fold.hpp"
#include "tree/wire/node_table.hpp"

namespace charmtree::proto {

namespace {

constexpr std::uint64_t kMostPes = 0x7FFF'FFFF;  // Charm++ counts PEs in an int
constexpr std::size_t kKindsShown = 4;

using Sites = std::span<const ProvisionSite>;

std::uint64_t units(const Topology& topology, CpuUnit unit) {
  switch (unit) {
    case CpuUnit::socket:
      return topology.sockets;
    case CpuUnit::core:
      return topology.cores;
    case CpuUnit::pu:
      return topology.pus;
    case CpuUnit::none:
    case CpuUnit::host:
    case CpuUnit::numa:
      break;
  }
  return 1;
}

/// What Charm++ calls the unit in its options and variables.
std::string_view charm_name(CpuUnit unit) {
  static constexpr std::array<std::string_view, kCpuUnitCount> kNames = {"",     "Host", "Socket",
                                                                         "NUMA", "Core", "PU"};
  return kNames[static_cast<std::size_t>(unit)];
}

Error refused(std::string what, std::string fix) {
  return {Errc::bad_input, Phase::start, std::move(what), std::move(fix)};
}

/// The sites' names by what each has: "h[00-02]: 4, h03: 8".
template <class Text>
std::string by_kind(Sites sites, Text text_of) {
  std::vector<std::pair<std::string, std::vector<std::string>>> kinds;
  for (std::size_t i = 0; i < sites.size(); ++i) {
    const std::string text = text_of(i);
    auto kind = kinds.begin();
    while (kind != kinds.end() && kind->first != text) ++kind;
    if (kind == kinds.end()) kind = kinds.insert(kind, {text, {}});
    kind->second.emplace_back(sites[i].name);
  }
  std::string all;
  for (std::size_t i = 0; i < kinds.size() && i < kKindsShown; ++i)
    all += fmt::format("{}{}: {}", i == 0 ? "" : ", ", wire::fold_names(kinds[i].second), kinds[i].first);
  if (kinds.size() > kKindsShown) all += fmt::format(" and {} more kinds", kinds.size() - kKindsShown);
  return all;
}

struct Threads {
  std::uint64_t count = 0;  // of a host
  bool gave_up_some = false;
};

Threads threads_of(const ProvisionSite& site, CpuUnit unit, std::uint64_t processes) {
  Threads threads{units(site.topology, unit), false};
  threads.gave_up_some = threads.count > processes && threads.count + processes > site.topology.pus;
  if (threads.gave_up_some) threads.count -= processes;
  return threads;
}

Error indivisible(const ProvisionSite& site, CpuUnit unit, std::uint32_t processes, const Threads& threads) {
  return refused(
      fmt::format("{}: {} worker thread{} (++oneWthPer{}) cannot be divided among {} processes; it has {}{}",
                  site.name, threads.count, threads.count == 1 ? "" : "s", charm_name(unit), processes,
                  to_string(site.topology),
                  threads.gave_up_some ? ", and each process needs a PU for its communication" : ""),
      "choose the number by ++ppn, or another unit");
}

/// The worker threads in each process, the same everywhere.
Result<std::uint32_t> pes_of(CpuUnit unit, Sites sites, const std::vector<std::uint32_t>& processes) {
  std::vector<std::uint64_t> pes;
  for (std::size_t i = 0; i < sites.size(); ++i) {
    const Threads threads = threads_of(sites[i], unit, processes[i]);
    if (threads.count < processes[i] || threads.count % processes[i] != 0)
      return indivisible(sites[i], unit, processes[i], threads);
    pes.push_back(threads.count / processes[i]);
  }
  for (const std::uint64_t each : pes) {
    if (each == pes.front()) continue;
    return refused(
        fmt::format("++oneWthPer{} gives processes of different hosts different numbers of PEs ({})",
                    charm_name(unit),
                    by_kind(sites, [&](std::size_t i) { return fmt::format("{}", pes[i]); })),
        "Charm++ needs as many in each: choose the number by ++ppn, or hosts that are alike");
  }
  return static_cast<std::uint32_t>(pes.front());
}

Result<std::vector<std::uint32_t>> processes_of(const wire::Provision& wish, Sites sites) {
  std::vector<std::uint32_t> processes;
  std::uint64_t all = 0;
  for (const ProvisionSite& site : sites) {
    const std::uint64_t here = wish.process_unit == CpuUnit::none
                                   ? site.processes
                                   : wish.processes * units(site.topology, wish.process_unit);
    all += here;
    if (all > wire::kMaxProcesses)
      return refused(fmt::format("the hosts up to {} would get {} processes; at most {} are possible",
                                 site.name, all, wire::kMaxProcesses),
                     "choose a coarser unit");
    processes.push_back(static_cast<std::uint32_t>(here));
  }
  return processes;
}

}  // namespace

Result<Provisioned> provision(const wire::Provision& wish, std::uint32_t pes_per_process,
                              std::span<const ProvisionSite> sites) {
  Provisioned result;
  if (sites.empty()) return result;
  auto processes = processes_of(wish, sites);
  if (!processes) return processes.error();
  result.processes = std::move(*processes);
  result.pes_per_process = pes_per_process;
  std::uint64_t all = 0;
  bool differ = false;
  for (const std::uint32_t each : result.processes) {
    all += each;
    differ = differ || each != result.processes.front();
  }
  if (wish.same_everywhere && differ) {
    return refused(
        fmt::format("hosts would get different numbers of processes ({})",
                    by_kind(sites, [&](std::size_t i) { return fmt::format("{}", result.processes[i]); })),
        "this program (PXSHM) needs as many on each: use ++processPerHost");
  }
  if (wish.thread_unit != CpuUnit::none) {
    const auto pes = pes_of(wish.thread_unit, sites, result.processes);
    if (!pes) return pes.error();
    result.pes_per_process = *pes;
  }
  if (all * result.pes_per_process > kMostPes)
    return refused(fmt::format("{} processes of {} PEs are too many PEs", all, result.pes_per_process), "");
  return result;
}

std::vector<std::string> cpu_hints(const wire::Provision& wish) {
  std::vector<std::string> hints;
  if (!wish.hints) return hints;
  if (wish.process_unit != CpuUnit::none)
    hints.push_back(fmt::format("CmiProcessPer{}={}", charm_name(wish.process_unit), wish.processes));
  if (wish.thread_unit != CpuUnit::none)
    hints.push_back(fmt::format("CmiOneWthPer{}=1", charm_name(wish.thread_unit)));
  return hints;
}

}  // namespace charmtree::proto
