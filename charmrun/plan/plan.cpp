// SPDX-License-Identifier: Apache-2.0
#include "charmrun/plan/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

#include "charmrun/plan/placement.hpp"
#include "charmrun/report/report.hpp"
#include "tree/base/join.hpp"
#include "tree/job/provision.hpp"
#include "tree/overlay/host_pool.hpp"
#include "tree/overlay/predictor.hpp"

namespace charmtree {
namespace {

/// The paper's best batch (256 nodes, k = 16).
constexpr std::uint32_t kPaperBatch = 8;

std::string plural(std::uint64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

struct Size {
  std::uint64_t hosts = 0, processes = 0;
  bool assumed = false;                     // nobody said how many processes
  std::vector<std::uint32_t> processes_of;  // the hosts that have some
  std::uint32_t pes_per_process = 1;
  bool by_topology = false;
};

/// The processes of each host, as far as they do not depend on what it is.
Result<Size> shared_size(const Options& options, const HostSlots& slots, const wire::Provision& wish) {
  Size size;
  const bool by_unit = wish.process_unit != CpuUnit::none;
  size.assumed = !by_unit && options.counts.pes == 0 && options.counts.processes == 0 &&
                 wish.thread_unit == CpuUnit::none;
  if (by_unit || size.assumed) {
    for (const std::uint32_t each : slots.each) {
      if (each > 0) size.processes_of.push_back(by_unit ? 1 : each);
    }
    size.pes_per_process = std::max(1U, options.counts.pes_per_process);
    return size;
  }
  const auto counts = count_processes(options);
  if (!counts) return counts.error();
  size.pes_per_process = counts->pes_per_process;
  for (const HostShare& share : split_among(counts->processes, slots.each, slots.given))
    size.processes_of.push_back(share.processes);
  return size;
}

/// The hosts that are logged into when the list is continued by itself as far as ++numHosts says: those that
/// get processes, and the spares.
Result<Size> size_of(const Options& options, const HostSlots& slots, const wire::Provision& wish,
                     const std::optional<Topology>& here) {
  const std::size_t listed = slots.each.size();
  const std::size_t spares = std::min<std::size_t>(options.host_failure.spares, listed - 1);
  HostSlots all{
      std::vector<std::uint32_t>(options.counts.host_limit > 0 ? options.counts.host_limit : listed - spares),
      slots.given};
  for (std::size_t i = 0; i < all.each.size(); ++i) all.each[i] = slots.each[i % listed];
  auto size = shared_size(options, all, wish);
  if (!size) return size;
  std::vector<proto::ProvisionSite> sites;
  for (const std::uint32_t each : size->processes_of)
    sites.push_back({"a host like this one", here.value_or(Topology{}), each});
  auto provisioned = proto::provision(wish, size->pes_per_process, sites);
  if (!provisioned) return provisioned.error();
  size->by_topology = wish.by_topology();
  size->pes_per_process = provisioned->pes_per_process;
  size->processes_of = std::move(provisioned->processes);
  size->hosts = size->processes_of.size() + spares;
  size->processes = std::accumulate(size->processes_of.begin(), size->processes_of.end(), std::uint64_t{0});
  return size;
}

std::string row(std::string_view label, std::string_view text) {
  return fmt::format("  {:<10} {}\n", label, text);
}

std::string hosts_row(const LoginCosts& logins, const Size& size, std::size_t listed) {
  std::vector<std::string> kinds;
  if (logins.local > 0) kinds.push_back(fmt::format("{} on this machine", logins.local));
  if (logins.ssh > 0) kinds.push_back(fmt::format("{} by ssh", logins.ssh));
  if (logins.command > 0) kinds.push_back(fmt::format("{} by a remote-shell command", logins.command));
  std::string text = join(kinds, ", ");
  if (size.hosts < listed) text += fmt::format("; {} of them are used", size.hosts);
  if (size.hosts > listed)
    text +=
        fmt::format("; {} more {} assumed", size.hosts - listed, logins.remote() > 0 ? "like them" : "are");
  return row("hosts", text);
}

/// "4 processes on each host", or by how many hosts have how many.
std::string placement_rows(const Size& size, const std::optional<Topology>& here, bool exact) {
  std::map<std::uint32_t, std::size_t, std::greater<>> hosts_with;
  for (const std::uint32_t each : size.processes_of) ++hosts_with[each];
  std::vector<std::string> parts;
  for (const auto& [processes, hosts] : hosts_with) {
    const std::string on =
        hosts_with.size() == 1 ? size.hosts == 1 ? "the host" : "each host" : plural(hosts, "host", "hosts");
    parts.push_back(fmt::format("{} on {}", plural(processes, "process", "processes"), on));
  }
  std::string text = row("placement", fmt::format("{}; {} in each process", join(parts, ", "),
                                                  plural(size.pes_per_process, "PE", "PEs")));
  if (size.by_topology && here)
    text += row("", fmt::format("by the {} of this machine{}", to_string(*here),
                                exact ? "" : ", which are assumed of every host"));
  if (size.assumed) text += row("", "as many as the hosts have slots (neither +p nor ++n was given)");
  return text;
}

std::string login_rows(const LoginCosts& logins, const proto::Postal& postal, bool local) {
  std::string latency = human_time(postal.latency);
  if (logins.slow_latency > Duration{0})
    latency += fmt::format(" (slow: {})", human_time(logins.slow_latency));
  std::string text = row("login", fmt::format("{} until the launcher there answers, {} of its parent's time",
                                              latency, human_time(postal.occupancy)));
  if (local) return text + row("", "assumed; that all share this machine's cores is left out");
  if (logins.known == 0) return text + row("", "assumed: no login to such hosts has been measured yet");
  std::string source = fmt::format("measured: {} to \"{}\"", plural(logins.logins, "login", "logins"),
                                   join(logins.patterns, "\", \""));
  if (logins.known < logins.remote())
    source +=
        fmt::format("; assumed for {} of the {} hosts", logins.remote() - logins.known, logins.remote());
  return text + row("", source);
}

std::string shape_rows(const proto::StartupPlan& plan, const proto::TreeForecast& tree) {
  std::string text = plan.shape.branching == 0 ? "late binding: about " : "fixed: ";
  text += plural(tree.levels, "level", "levels");
  if (plan.shape.branching != 0) text += fmt::format(", at most {} children each", plan.shape.branching);
  text += fmt::format("; the root starts {}", plural(tree.root_degree, "host", "hosts"));
  const proto::Postal& login = plan.costs.login;
  const std::int64_t enough = (login.latency + login.occupancy - Duration{1}) / login.occupancy;
  std::string window = plan.window == 0 ? "as many logins at a time as go well"
                                        : plural(plan.window, "login", "logins") + " at a time";
  if (plan.login_rate != 0) window += fmt::format(", {} a second in all", plan.login_rate);
  return row("tree", text) + row("window", fmt::format("{}; {} keep a launcher busy", window, enough));
}

std::string phase_rows(const proto::StartupPlan& plan, const proto::StartupForecast& usual,
                       const std::optional<proto::StartupForecast>& slow) {
  struct Phase {
    std::string_view name;
    Duration proto::StartupForecast::*takes;
    std::string end;
  };
  const std::uint64_t each = (plan.processes + plan.hosts - 1) / plan.hosts;
  const Phase phases[] = {{"logins", &proto::StartupForecast::logins, "every launcher runs"},
                          {"processes", &proto::StartupForecast::processes,
                           plural(each, "process", "processes") + " on each host"},
                          {"gather", &proto::StartupForecast::gather, "the root has all addresses"},
                          {"table", &proto::StartupForecast::table, "every process has the node table"}};
  std::string text =
      fmt::format("\n  {:<10} {:>10} {:>10}{}\n", "phase", "takes", "over at", slow ? "    if slow" : "");
  Duration over{0}, slow_over{0};
  for (const Phase& phase : phases) {
    over += usual.*phase.takes;
    text +=
        fmt::format("  {:<10} {:>10} {:>10}", phase.name, human_time(usual.*phase.takes), human_time(over));
    if (slow) {
      slow_over += (*slow).*phase.takes;
      text += fmt::format(" {:>10}", human_time(slow_over));
    }
    text += fmt::format("   {}\n", phase.end);
  }
  return text;
}

Duration gathered(const proto::StartupForecast& forecast) {
  return forecast.logins + forecast.processes + forecast.gather;
}

std::string model_rows(const Options& options, const proto::StartupPlan& plan, Duration planned) {
  proto::StartupPlan best = plan;
  best.shape = {};
  best.window = 0;
  best.login_rate = 0;
  const auto hosts = static_cast<double>(plan.hosts), processes = static_cast<double>(plan.processes);
  const double per_host = processes / hosts;
  const wire::Shape shape = proto::choose_shape(static_cast<std::uint32_t>(plan.hosts),
                                                options.launch.branching, options.launch.levels);
  const auto branching = static_cast<double>(shape.branching);
  const double levels = shape.levels != 0 ? shape.levels : proto::paper_levels(hosts, branching);
  const double batch =
      std::min<double>(options.launch.batch != 0 ? options.launch.batch : kPaperBatch, branching);
  const proto::PaperTimes times = proto::paper_times(plan.costs);
  const auto model = [](std::string label, Duration time, std::string_view source) {
    return fmt::format("  {:<44} {:>10}   {}\n", label, human_time(time), source);
  };
  const std::string tree = fmt::format("{:.3g} {} of launchers, {} children each", levels,
                                       levels == 1 ? "level" : "levels", shape.branching);
  return "\n  until the root has all addresses, in several ways:\n" +
         model("this plan", planned, "as above") +
         model("everybody always starts the next host", gathered(proto::forecast(best)), "postal bound") +
         model("one login per process, from here", proto::basic_startup(times, processes), "basic (2)") +
         model("one login per host, from here", proto::smp_aware_startup(times, hosts, per_host),
               "SMP-aware (4)") +
         model(tree, proto::multi_level_startup(times, levels, branching, per_host), "d-level (5)") +
         model(fmt::format("the same in batches of {}", batch),
               proto::batched_startup(times, levels, branching, batch, per_host), "batched (7)") +
         "  (n): equations of Gupta, Zheng, Kale: A Multi-level Scalable Startup (2011)\n";
}

}  // namespace

Result<std::string> plan_text(const Options& options, const LoginCosts& logins, const HostSlots& slots,
                              const wire::Provision& wish, const std::optional<Topology>& here) {
  const auto size = size_of(options, slots, wish, here);
  if (!size) return size.error();
  const bool more = size->hosts > slots.each.size();
  const bool local = logins.remote() == 0 && (!more || options.hosts.are_here());
  proto::StartupPlan plan;
  plan.hosts = size->hosts;
  plan.processes = size->processes;
  plan.window = options.launch.batch != 0 ? options.launch.batch : options.launch.max_logins;
  plan.login_rate = options.launch.login_rate.per_second;
  if (logins.remote() > 0 || local) plan.costs.login = logins.postal;
  if (options.launch.branching != 0 || options.launch.levels != 0) {
    plan.shape = proto::choose_shape(static_cast<std::uint32_t>(plan.hosts), options.launch.branching,
                                     options.launch.levels);
  }
  const proto::StartupForecast usual = proto::forecast(plan);
  std::optional<proto::StartupForecast> slow;
  if (logins.slow_latency > Duration{0}) {
    proto::StartupPlan slow_plan = plan;
    slow_plan.costs.login.latency = logins.slow_latency;
    slow = proto::forecast(slow_plan);
  }

  std::string text =
      fmt::format("A start of {} on {}; nothing was started.\n\n",
                  plural(plan.processes, "process", "processes"), plural(plan.hosts, "host", "hosts"));
  text += hosts_row(logins, *size, slots.each.size());
  if (options.counts.host_limit > size->processes_of.size())
    text += row("", fmt::format("only {} of ++numHosts {} get a process; without +p and ++n each would",
                                size->processes_of.size(), options.counts.host_limit));
  text += placement_rows(*size, here, options.hosts.are_here());
  text += login_rows(logins, plan.costs.login, local);
  text += shape_rows(plan, usual.tree);
  text += phase_rows(plan, usual, slow);
  return text + model_rows(options, plan, gathered(usual));
}

}  // namespace charmtree
