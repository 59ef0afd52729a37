// SPDX-License-Identifier: Apache-2.0
#include "charmrun/plan/provisioning.hpp"

#include <fmt/format.h>

#include <initializer_list>
#include <vector>

namespace charmtree {
namespace {

/// What was asked for, and what it was called.
struct Asked {
  CpuUnit unit = CpuUnit::none;
  std::uint32_t count = 0;
  std::string name;
};

std::vector<Asked> given(std::initializer_list<Asked> all) {
  std::vector<Asked> some;
  for (const Asked& each : all) {
    if (each.count > 0) some.push_back(each);
  }
  return some;
}

std::vector<Asked> process_units(const Options& options) {
  return given({{CpuUnit::host, options.placement.processes_per_host, "++processPerHost"},
                {CpuUnit::socket, options.placement.processes_per_socket, "++processPerSocket"},
                {CpuUnit::core, options.placement.processes_per_core, "++processPerCore"},
                {CpuUnit::pu, options.placement.processes_per_pu, "++processPerPU"}});
}

std::vector<Asked> thread_units(const Options& options) {
  return given({{CpuUnit::host, options.placement.worker_per_host, "++oneWthPerHost"},
                {CpuUnit::socket, options.placement.worker_per_socket, "++oneWthPerSocket"},
                {CpuUnit::core, options.placement.worker_per_core, "++oneWthPerCore"},
                {CpuUnit::pu, options.placement.worker_per_pu, "++oneWthPerPU"}});
}

Error exclude_each_other(const std::string& one, const std::string& other) {
  return bad_input(fmt::format("{} and {} exclude each other", one, other), "leave one of them out");
}

/// The first two options of which only one may be given.
Result<void> check_exclusions(const Options& options, const std::vector<Asked>& processes,
                              const std::vector<Asked>& threads) {
  if (processes.size() > 1) return exclude_each_other(processes[0].name, processes[1].name);
  if (threads.size() > 1) return exclude_each_other(threads[0].name, threads[1].name);
  std::vector<std::string> units;
  if (options.placement.auto_provision) units.emplace_back("++auto-provision");
  for (const auto* list : {&processes, &threads}) {
    if (!list->empty()) units.push_back(list->front().name);
  }
  if (units.empty()) return {};
  if (options.placement.auto_provision && units.size() > 1) return exclude_each_other(units[0], units[1]);
  if (options.counts.pes > 0) return exclude_each_other(units[0], "+p");
  const bool counts_units = options.placement.auto_provision || !processes.empty();
  if (options.counts.processes > 0 && counts_units && !options.placement.fills_hosts(options.counts))
    return exclude_each_other(units[0], "++n");
  if (options.counts.pes_per_process > 0 && (options.placement.auto_provision || !threads.empty()))
    return exclude_each_other(units.back(), "++ppn");
  const ConnectingStarter* starter = options.connecting_starter();
  if (starter && (options.placement.auto_provision || !processes.empty()))
    return exclude_each_other(units[0], std::string{starter->option});
  return {};
}

/// Every process needs a worker thread of its own, inside what it is one for.
Result<void> check_fineness(const Asked& processes, const Asked& threads) {
  if (threads.unit < processes.unit) {
    return bad_input(fmt::format("{} counts by a coarser unit than {}", threads.name, processes.name),
                     "every process needs a worker thread: use the same unit or a finer one for threads");
  }
  if (threads.unit == processes.unit && processes.count > 1) {
    return bad_input(fmt::format("{} {} are more processes than worker threads ({})", processes.name,
                                 processes.count, threads.name),
                     "use a finer unit for threads");
  }
  return {};
}

}  // namespace

Result<wire::Provision> wanted_provision(const Options& options, const std::function<bool()>& is_smp) {
  const std::vector<Asked> processes = process_units(options), threads = thread_units(options);
  if (auto fine = check_exclusions(options, processes, threads); !fine) return fine.error();
  if (!threads.empty() && !processes.empty()) {
    if (auto fine = check_fineness(processes[0], threads[0]); !fine) return fine.error();
  }
  wire::Provision wish;
  if (options.placement.auto_provision && is_smp())
    wish = {CpuUnit::socket, 1, CpuUnit::pu};
  else if (options.placement.auto_provision)
    wish = {CpuUnit::core, 1};
  if (!processes.empty() && !options.placement.fills_hosts(options.counts)) {
    wish.process_unit = processes[0].unit;
    wish.processes = processes[0].count;
  }
  if (!threads.empty()) wish.thread_unit = threads[0].unit;
  wish.hints = options.placement.binding == BindUnit::automatic;
  return wish;
}

CpuUnit bound_to(BindUnit binding) {
  switch (binding) {
    case BindUnit::core:
      return CpuUnit::core;
    case BindUnit::socket:
      return CpuUnit::socket;
    case BindUnit::numa:
      return CpuUnit::numa;
    case BindUnit::automatic:
    case BindUnit::none:
      break;
  }
  return CpuUnit::none;
}

}  // namespace charmtree
