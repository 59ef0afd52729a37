// SPDX-License-Identifier: Apache-2.0
#include "tree/turn/binding.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tree/wire/fold.hpp"

namespace charmtree::proto {

namespace {

using wire::Binding;

std::uint32_t size_of(const std::vector<CpuSet>& units) {
  return std::max<std::uint32_t>(1, static_cast<std::uint32_t>(units.size()));
}

Binding place(const CpuMap& cpus, CpuUnit unit, std::uint32_t width, std::uint32_t rank) {
  const std::vector<CpuSet>& units = cpus.of(unit);
  if (units.empty()) return {};
  const auto all = static_cast<std::uint32_t>(units.size());
  Binding binding;
  binding.by = Binding::By::launcher;
  binding.unit = unit;
  binding.count = std::clamp(width, 1U, all);
  binding.first = rank % (all / binding.count) * binding.count;
  for (std::uint32_t i = 0; i < binding.count; ++i) {
    const CpuSet& set = units[binding.first + i];
    binding.pus.insert(binding.pus.end(), set.begin(), set.end());
  }
  std::sort(binding.pus.begin(), binding.pus.end());
  return binding;
}

/// Of hosts that are bound alike, by the rank of a process on its host.
struct Kind {
  const std::vector<Binding>* places;
  std::vector<std::string> names;
  std::vector<std::uint32_t> first_processes;
};

/// Processes of consecutive ranks that are bound to consecutive units, or not at all.
struct Run {
  std::uint32_t first_rank, processes;
  Binding all;  // together
};

bool continues(const Run& run, const Binding& next) {
  if (run.all.by != next.by || run.all.unit != next.unit) return false;
  if (next.by == Binding::By::nobody) return true;
  return run.all.count == next.count * run.processes && run.all.first + run.all.count == next.first;
}

std::vector<Run> runs_of(const std::vector<Binding>& places) {
  std::vector<Run> runs;
  for (std::uint32_t rank = 0; rank < places.size(); ++rank) {
    const Binding& place = places[rank];
    if (runs.empty() || !continues(runs.back(), place)) {
      runs.push_back({rank, 1, place});
      continue;
    }
    Run& run = runs.back();
    ++run.processes;
    run.all.count += place.count;
    run.all.pus.insert(run.all.pus.end(), place.pus.begin(), place.pus.end());
  }
  return runs;
}

/// "process 3", "processes 0-7", or "processes 3,7,...,31" where there are many hosts.
std::string numbers(const Kind& kind, const Run& run) {
  constexpr std::size_t kShown = 4;
  std::vector<std::uint32_t> first, all;
  for (const std::uint32_t number : kind.first_processes) {
    first.push_back(number + run.first_rank);
    for (std::uint32_t i = 0; i < run.processes; ++i) all.push_back(first.back() + i);
  }
  if (first.size() <= kShown || kind.places->size() == run.processes)
    return wire::fold_numbers(std::move(all));
  const auto range = [&](std::uint32_t number) {
    return run.processes == 1 ? std::to_string(number)
                              : fmt::format("{}-{}", number, number + run.processes - 1);
  };
  return fmt::format("processes {},{},...,{}", range(first[0]), range(first[1]), range(first.back()));
}

std::string place_of(const Run& run) {
  const std::uint32_t each = run.all.count / run.processes;
  if (run.processes == 1 || each == 0) return wire::to_string(run.all);
  return fmt::format("{} each of {}", each == 1 ? "one" : std::to_string(each), wire::to_string(run.all));
}

}  // namespace

const std::vector<CpuSet>& CpuMap::of(CpuUnit unit) const {
  switch (unit) {
    case CpuUnit::socket:
      return sockets;
    case CpuUnit::numa:
      return numas;
    case CpuUnit::core:
      return cores;
    case CpuUnit::none:
    case CpuUnit::host:
    case CpuUnit::pu:
      break;
  }
  return pus;
}

Topology CpuMap::topology() const {
  return {size_of(sockets), size_of(cores), size_of(pus)};
}

bool needs_cpus(const wire::JobSpec& job) {
  return job.provision.by_topology() || job.spawn.bind != CpuUnit::none || job.reports.bindings;
}

Binding binding_of(const wire::JobSpec& job, const CpuMap& cpus, std::uint32_t local_rank) {
  if (!cpus.bindable) return {};
  if (job.spawn.bind != CpuUnit::none) {
    const std::uint32_t width = job.spawn.bind == CpuUnit::core ? job.pes_per_process : 1;
    return place(cpus, job.spawn.bind, width, local_rank);
  }
  if (job.provision.process_unit <= CpuUnit::host || !job.provision.hints) return {};
  Binding binding = place(cpus, job.provision.process_unit, 1, local_rank);
  if (binding.count > 0) binding.by = Binding::By::itself;
  return binding;
}

std::vector<std::string> describe(const std::vector<wire::Bindings>& bindings,
                                  const std::vector<Host>& hosts) {
  std::vector<Kind> kinds;
  for (const wire::Bindings& each : bindings) {
    auto kind =
        std::find_if(kinds.begin(), kinds.end(), [&](const Kind& k) { return *k.places == each.processes; });
    if (kind == kinds.end()) kind = kinds.insert(kind, Kind{&each.processes, {}, {}});
    kind->names.push_back(hosts[each.host].name);
    kind->first_processes.push_back(hosts[each.host].first_process);
  }
  std::vector<std::string> lines;
  for (const Kind& kind : kinds) {
    const std::string names = wire::fold_names(kind.names);
    for (const Run& run : runs_of(*kind.places))
      lines.push_back(fmt::format("{}: {}: {}", names, numbers(kind, run), place_of(run)));
  }
  return lines;
}

}  // namespace charmtree::proto
