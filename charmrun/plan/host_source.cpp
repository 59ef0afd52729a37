// SPDX-License-Identifier: Apache-2.0
#include "charmrun/plan/host_source.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "charmrun/hosts/allocation.hpp"
#include "charmrun/hosts/machines.hpp"
#include "charmrun/plan/program_file.hpp"
#include "tree/io/clock.hpp"
#include "tree/io/host/own_addresses.hpp"
#include "tree/io/link/process_transport.hpp"
#include "tree/io/ssh/ssh_ask.hpp"
#include "tree/io/surroundings.hpp"
#include "tree/wire/words.hpp"

namespace charmtree {
namespace {

constexpr std::size_t kMostBytesOfHostsFile = 16U << 20;
constexpr Duration kPatience = 10s;  // with the commands of a resource manager

Result<std::string> read_list(const std::string& path) {
  auto text = path == "-" ? io::read_file(io::UniqueFd{::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)}, "stdin",
                                          kMaxNodelistBytes)
                          : io::read_file(path, kMaxNodelistBytes);
  if (!text) return Error{Errc::bad_input, Phase::nodelist, text.error().what};
  return text;
}

Result<AllocationSearch> own_allocation(ResourceManager manager) {
  if (manager == ResourceManager::none) return AllocationSearch{};
  std::optional<ThisMachine> machine;
  const std::string own = io::own_host_name();
  const auto is_here = [&](std::string_view host) {
    if (!machine) {
      auto hosts_file = io::read_file("/etc/hosts", kMostBytesOfHostsFile);
      machine.emplace(own, hosts_file ? *hosts_file : std::string{}, io::own_addresses());
    }
    // A list may have names with the domain where we have one without, or the other way round.
    return machine->has_name(host) || host.substr(0, host.find('.')) == own.substr(0, own.find('.'));
  };
  const auto run = [](std::vector<Command> commands) {
    AllocationView::Answers said;
    const Command without_errors{"sh", "-c", "exec \"$@\" 2>/dev/null", "sh"};
    for (Command& each : commands) each.insert(each.begin(), without_errors.begin(), without_errors.end());
    for (const io::CommandAnswer& each : io::run_commands(commands, kPatience))
      said.push_back(each.finished && each.status == 0 ? std::optional{each.output} : std::nullopt);
    return said;
  };
  return find_allocation(manager, {io::own_variable, read_list, is_here, run, io::wall_ms() / 1000,
                                   std::to_string(::geteuid())});
}

/// ", which ends in 2 h 5 min,".
std::string time_left(const Allocation& allocation) {
  if (!allocation.seconds_left) return {};
  const std::int64_t minutes = *allocation.seconds_left / 60;
  return fmt::format(", which ends in {}{} min,", minutes < 60 ? "" : fmt::format("{} h ", minutes / 60),
                     minutes % 60);
}

Command starter(StartedBy transport, ResourceManager manager) {
  if (transport == StartedBy::blaunch) return {"blaunch"};  // as rsh: it goes through a shell
  const bool is_automatic = transport == StartedBy::automatic && manager == ResourceManager::slurm &&
                            !io::find_program("srun").empty();
  if (transport != StartedBy::srun && !is_automatic) return {};
  // What the user's own sruns are to do is not for ours: without -u the end of what a launcher says would
  // wait for a newline, and a label would stand in it; without --overlap two steps would not be on a host at
  // a time.
  return *split_command(
      "env -u SLURM_LABELIO -u SLURM_STDINMODE -u SLURM_EXPORT_ENV -u SLURM_DISTRIBUTION "
      "-u SLURM_CPU_BIND srun -Q -u --overlap --mpi=none --kill-on-bad-exit=0 --wait=0 -N1 -n1 "
      "-w %h sh -c");
}

/// The list alone.
Result<HostSource> find_list(const Options& options, ResourceManager& manager) {
  HostSource source;
  if (const ConnectingStarter* starter = find_connecting_starter(options.launch.transport))
    source.remarks.push_back(fmt::format("++local: {} is not called", starter->name));
  if (options.hosts.are_here()) return source;
  if (!options.hosts.listed.empty())
    return HostSource{.name = options.hosts.listed_by, .text = options.hosts.listed};
  for (const NodelistPlace& place : options.nodelist_places) {
    if (!place.required) continue;
    auto text = read_list(place.path);
    if (!text) return text.error();
    source.is_read_once = place.path == "-";
    source.name = source.is_read_once ? "stdin" : place.path;
    source.text = std::move(*text);
    return source;
  }
  auto allocation = own_allocation(options.hosts.manager);
  if (!allocation) return allocation.error();
  source.remarks.insert(source.remarks.end(), allocation->remarks.begin(), allocation->remarks.end());
  if (allocation->found) {
    Allocation& found = *allocation->found;
    source.remarks.push_back(fmt::format("{}{} names the hosts, by {} (++rm none: look for no allocation)",
                                         found.manager, time_left(found), found.source));
    manager = found.starter;
    source.is_read_once = found.is_asked_for;
    source.name = std::move(found.source);
    source.text = std::move(found.hosts);
    return source;
  }
  for (const NodelistPlace& place : options.nodelist_places) {
    if (!is_file(place.path)) continue;
    auto text = read_list(place.path);
    if (!text) return text.error();
    source.name = place.path;
    source.text = std::move(*text);
    return source;
  }
  if (!options.hosts.chosen.empty()) return source;
  if (!options.hosts.excluded.empty())
    return bad_input("++exclude: there is no list of hosts to leave some out of",
                     "++nodelist or ++host names them");
  if (options.mode != Mode::plan && !options.is_mpiexec)
    source.remarks.emplace_back("no nodelist found: running on this machine only (as with ++local)");
  return source;
}

}  // namespace

Result<HostSource> find_hosts(const Options& options) {
  ResourceManager manager = ResourceManager::none;
  auto source = find_list(options, manager);
  if (source) source->shell = starter(options.launch.transport, manager);
  return source;
}

Result<std::uint32_t> allocated_slots(const Options& options, const ConnectingStarter& starter,
                                      std::vector<std::string>& remarks) {
  const bool is_said = options.counts.pes > 0 || options.counts.processes > 0;
  if (is_said && starter.takes_count) return 0U;
  const auto search = own_allocation(options.hosts.manager);
  if (!search) return search.error();
  remarks.insert(remarks.end(), search->remarks.begin(), search->remarks.end());
  if (!search->found) return 0U;
  const Allocation& allocation = *search->found;
  const auto list = parse_nodelist(allocation.hosts, allocation.source);
  if (!list) return list.error();
  std::uint64_t slots = 0;
  for (const NodelistHost& host : list->hosts) slots += host.slots;
  remarks.push_back(fmt::format("{}{} gives {} slot{}", allocation.manager, time_left(allocation), slots,
                                slots == 1 ? "" : "s"));
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(slots, kMaxProcesses));
}

Result<void> check_shell(const Profile& profile, const HostOptions& said, const std::string& host) {
  if (profile.via != Via::command) return {};
  if (said.port == 0 && (said.login.empty() || !io::CommandTransport::is_starter(profile))) return {};
  return Error{Errc::bad_input, Phase::nodelist,
               fmt::format("{}: a {}, and `{}`, which does not know it", host,
                           said.port != 0 ? "port" : "login", profile.shell[0]),
               "say it in the command of ++remote-shell"};
}

}  // namespace charmtree
