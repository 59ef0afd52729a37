// SPDX-License-Identifier: Apache-2.0
#include "charmrun/plan/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace charmtree {
namespace {

/// Counts as messages name them: as they were typed, else as they usually are.
struct Names {
  explicit Names(const Options& options)
      : p(options.counts.typed.pes.empty() ? fmt::format("+p{}", options.counts.pes)
                                           : options.counts.typed.pes),
        n(options.counts.typed.processes.empty() ? fmt::format("++n {}", options.counts.processes)
                                                 : options.counts.typed.processes),
        ppn(options.counts.typed.pes_per_process.empty()
                ? fmt::format("++ppn {}", options.counts.pes_per_process)
                : options.counts.typed.pes_per_process) {}
  std::string p, n, ppn;
};

// ++n is given.
Result<Counts> count_from_processes(const Options& options) {
  const std::uint64_t n = options.counts.processes;
  const std::uint64_t p = options.counts.pes;
  const std::uint64_t ppn = options.counts.pes_per_process;
  const Names typed{options};
  if (p > 0 && ppn > 0 && n * ppn != p)
    return bad_input(fmt::format("{} is not {} times {}", typed.p, typed.n, typed.ppn),
                     fmt::format("leave one of the three out, or use +p{}", n * ppn));
  if (p > 0 && p % n != 0)
    return bad_input(fmt::format("{} cannot be divided among {}", typed.p, typed.n),
                     fmt::format("every process has as many PEs: leave one of the two out, or use +p{}",
                                 (p + n - 1) / n * n));
  if (n * ppn > kMaxPes)
    return bad_input(fmt::format("{} times {} are too many PEs", typed.n, typed.ppn), "");
  Counts counts;
  counts.processes = options.counts.processes;
  counts.pes_per_process = ppn > 0 ? options.counts.pes_per_process
                           : p > 0 ? static_cast<std::uint32_t>(p / n)
                                   : 1;
  return counts;
}

// What there is to plan with: a process for every slot.
Result<Placement> whole_list(const Options& options, std::span<const std::uint32_t> slots,
                             const wire::Provision& wish) {
  if (options.counts.host_limit > 0 && options.counts.host_limit < slots.size())
    slots = slots.first(options.counts.host_limit);
  Placement placement;
  placement.provision = wish;
  placement.counts.processes = 0;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i] == 0) continue;
    placement.hosts.push_back({static_cast<std::uint32_t>(i), placement.counts.processes, slots[i]});
    placement.counts.processes += slots[i];
  }
  if (placement.hosts.empty()) return bad_input("there is no host to run on", "");
  return placement;
}

/// As many processes on each host; with units that only the hosts know, one stands for them.
Result<void> share_by_units(std::span<const std::uint32_t> slots, Placement& placement) {
  const wire::Provision& wish = placement.provision;
  const std::uint32_t each = wish.process_unit == CpuUnit::host ? wish.processes : 1;
  std::uint64_t next = 0;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i] == 0) continue;
    if (next + each > kMaxProcesses)
      return bad_input(
          fmt::format("++processPerHost {} on {} hosts are too many processes; at most {} are possible",
                      wish.processes, slots.size(), kMaxProcesses),
          "");
    placement.hosts.push_back({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(next), each});
    next += each;
  }
  placement.counts.processes = static_cast<std::uint32_t>(next);
  return {};
}

/// The tree of a session is there before anybody says how many.
void leave_all_idle(Placement& placement) {
  placement.counts.processes = 0;
  for (HostShare& share : placement.hosts) share.first_process = share.processes = 0;
}

/// How many processes there are where nobody says so: at least one, which may find no host.
std::uint32_t unsaid_count(const HostSlots& list, std::span<const std::uint32_t> slots) {
  if (!list.given && !list.one_each) return 1;
  const std::uint64_t all =
      list.given ? std::accumulate(slots.begin(), slots.end(), std::uint64_t{0}) : slots.size();
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(all, 1, kMaxProcesses));
}

void add_idle_hosts(std::vector<HostShare>& shares, std::size_t hosts) {
  std::vector<HostShare> all(hosts);
  for (const HostShare& share : shares) all[share.host] = share;
  std::uint32_t first = 0;
  for (std::size_t i = 0; i < hosts; ++i) {
    all[i].host = static_cast<std::uint32_t>(i);
    all[i].first_process = first;
    first += all[i].processes;
  }
  shares = std::move(all);
}

}  // namespace

Result<Counts> count_processes(const Options& options, std::uint32_t unsaid) {
  if (options.counts.processes > 0) return count_from_processes(options);
  const Names typed{options};
  Counts counts;
  if (options.counts.pes_per_process > 0) counts.pes_per_process = options.counts.pes_per_process;
  if (options.counts.pes == 0) {
    counts.processes = unsaid;
    if (options.counts.pes_per_process == 0 && unsaid == 1 && !options.is_mpiexec)
      counts.notes.emplace_back("no number of processes was given (+p or ++n): starting 1");
    return counts;
  }
  if (options.counts.pes_per_process > options.counts.pes) {
    counts.pes_per_process = options.counts.pes;
    counts.notes.push_back(fmt::format("{} is more than {}: starting 1 process with {} PEs", typed.ppn,
                                       typed.p, options.counts.pes));
  }
  if (options.counts.pes % counts.pes_per_process != 0)
    return bad_input(fmt::format("{} cannot be divided by {}", typed.p, typed.ppn),
                     "every process has as many PEs");
  counts.processes = options.counts.pes / counts.pes_per_process;
  if (counts.processes > kMaxProcesses)
    return bad_input(
        fmt::format("{} are {} processes; at most {} are possible", typed.p, counts.processes, kMaxProcesses),
        "give each more PEs by ++ppn");
  return counts;
}

std::vector<HostShare> share_out(std::uint32_t processes, std::span<const std::uint32_t> slots) {
  const std::uint64_t all = std::accumulate(slots.begin(), slots.end(), std::uint64_t{0});
  if (all == 0) return {};

  std::vector<std::uint32_t> share(slots.size());
  std::vector<std::uint64_t> lost(
      slots.size());  // in parts of 1/all; processes * slots < 2^56, so nothing overflows
  std::uint32_t left = processes;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const std::uint64_t parts = std::uint64_t{processes} * slots[i];
    share[i] = static_cast<std::uint32_t>(parts / all);
    lost[i] = parts % all;
    left -= share[i];
  }
  std::vector<std::uint32_t> by_loss(slots.size());
  std::iota(by_loss.begin(), by_loss.end(), 0);
  std::stable_sort(by_loss.begin(), by_loss.end(), [&](auto a, auto b) { return lost[a] > lost[b]; });
  for (std::uint32_t i = 0; i < left; ++i) ++share[by_loss[i]];  // left < hosts that lost something

  std::vector<HostShare> shares;
  std::uint32_t first = 0;
  for (std::size_t i = 0; i < share.size(); ++i) {
    if (share[i] == 0) continue;
    shares.push_back({static_cast<std::uint32_t>(i), first, share[i]});
    first += share[i];
  }
  return shares;
}

std::vector<HostShare> fill_slots(std::uint32_t processes, std::span<const std::uint32_t> slots) {
  const std::uint64_t all = std::accumulate(slots.begin(), slots.end(), std::uint64_t{0});
  if (all == 0) return share_out(processes, std::vector<std::uint32_t>(slots.size(), 1));
  const std::uint64_t rounds = processes / all;
  std::uint64_t rest = processes % all;
  std::vector<HostShare> shares;
  std::uint32_t first = 0;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const std::uint64_t more = std::min<std::uint64_t>(rest, slots[i]);
    rest -= more;
    const auto share = static_cast<std::uint32_t>(rounds * slots[i] + more);
    if (share > 0) shares.push_back({static_cast<std::uint32_t>(i), first, share});
    first += share;
  }
  return shares;
}

std::vector<HostShare> split_among(std::uint32_t processes, std::span<const std::uint32_t> slots,
                                   bool given) {
  return given ? fill_slots(processes, slots) : share_out(processes, slots);
}

Result<Placement> place(const Options& options, HostSlots list, const wire::Provision& wish) {
  if (options.placement.fills_hosts(options.counts)) {
    list.given = true;
    std::fill(list.each.begin(), list.each.end(), options.placement.processes_per_host);
  }
  std::span<const std::uint32_t> slots = list.each;
  if (options.mode == Mode::plan) return whole_list(options, slots, wish);
  if (options.counts.host_limit > slots.size())
    return bad_input(fmt::format("++numHosts {} is more than the {} hosts there are",
                                 options.counts.host_limit, slots.size()),
                     "add hosts to the nodelist or choose another ++nodegroup");
  if (options.host_failure.spares > 0 && options.host_failure.spares >= slots.size())
    return bad_input(fmt::format("++spare-hosts {} leaves none of the {} hosts", options.host_failure.spares,
                                 slots.size()),
                     "add hosts to the nodelist");
  slots = slots.first(options.counts.host_limit > 0 ? options.counts.host_limit
                                                    : slots.size() - options.host_failure.spares);
  const bool starts_nothing = options.mode == Mode::doctor || options.mode == Mode::session;
  auto counts = count_processes(options, starts_nothing ? 1 : unsaid_count(list, slots));
  if (!counts) return counts.error();
  Placement placement{std::move(*counts), wish, {}};
  if (wish.process_unit == CpuUnit::none)
    placement.hosts = split_among(placement.counts.processes, slots, list.given);
  else if (auto shared = share_by_units(slots, placement); !shared)
    return shared.error();
  if (wish.process_unit != CpuUnit::none || wish.thread_unit != CpuUnit::none)
    placement.counts.notes.clear();  // that nobody said how many
  if (placement.hosts.empty()) return bad_input("there is no host to run on", "");
  if (starts_nothing) placement.counts.notes.clear();
  if (starts_nothing || options.mode == Mode::in || list.with_idle)
    add_idle_hosts(placement.hosts, slots.size());
  if (options.mode == Mode::session) leave_all_idle(placement);
  return placement;
}

std::uint64_t HostSlots::total() const {
  return std::accumulate(each.begin(), each.end(), std::uint64_t{0});
}

std::uint32_t universe_size(std::uint64_t slots, const wire::JobSpec& job) {
  if (job.provision.by_topology()) return 0;
  return static_cast<std::uint32_t>(
      std::max<std::uint64_t>(job.processes, std::min<std::uint64_t>(slots, kMaxProcesses)));
}

}  // namespace charmtree
