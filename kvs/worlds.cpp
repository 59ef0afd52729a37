// SPDX-License-Identifier: Apache-2.0
#include "kvs/worlds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <queue>
#include <utility>

namespace charmtree::proto {

namespace {

/// Returns the bytes that a host keeps of a world: its texts, and some more for each.
std::size_t bytes_of(const wire::WorldWanted& wanted) {
  constexpr std::size_t kEach = 32;
  std::size_t bytes = wanted.given.size();
  for (const wire::ProgramWanted& each : wanted.programs) {
    bytes += each.program.directory.size() + kEach;
    for (const std::string& text : each.program.arguments) bytes += text.size() + kEach;
    for (const std::string& text : each.program.environment) bytes += text.size() + kEach;
  }
  return bytes;
}

}  // namespace

/// Returns why the job starts no such processes. A launcher may claim anything of its processes: what decides
/// is the root's own description of the job. Launchers that come later are not sent earlier worlds, and
/// losses in worlds are not counted: hence no worlds in jobs that repair themselves.
std::string Worlds::why_not(const wire::WorldWanted& wanted) const {
  if (!job_->spawn.mpi.is_any()) return "the job serves no MPI (++pmi)";
  if (!may_spawn()) return "nothing shows that the program is MPI (++allow-spawn)";
  if (!wire::bears_growth(job_->loss.recovery))
    return "processes that go on one by one (++on-failure) have no others started";
  if (job_->keeps_alive())
    return "a job that may get another root (++keep-alive) starts no further processes";
  if (begun_.size() >= kMost) return fmt::format("a job may start others {} times", kMost);
  if (bytes_ + bytes_of(wanted) > kMostBytes)
    return fmt::format("a job may give {} MiB to the programs that its processes start", kMostBytes >> 20);
  std::uint64_t all = processes();
  for (const wire::ProgramWanted& each : wanted.programs) {
    all += each.processes;
    if (each.processes == 0 || each.program.arguments.empty()) return "a program without processes";
  }
  if (wanted.programs.empty()) return "no program is named";
  if (all > wire::kMaxProcesses)
    return fmt::format("a job may have {} processes, not {}", wire::kMaxProcesses, all);
  return {};
}

/// Prints the first refusal of the job: to every user if the permission is missing, else with ++verbose.
void Worlds::report(const wire::WorldWanted& wanted, const std::string& failure, RootTurn& turn) {
  if (std::exchange(has_refused_, true)) return;
  if (may_spawn())
    return turn.say(Tone::verbose,
                    fmt::format("process {} has no others started: {}", wanted.process, failure));
  turn.say(Tone::info,
           fmt::format("{}: process {} wants to start other processes, and nothing shows that the program is "
                       "MPI: none is started; if it is MPI, ++allow-spawn lets all its processes start "
                       "programs on all hosts of the job",
                       turn.judge().places().host_of(wanted.process).name, wanted.process));
}

void Worlds::refuse(const wire::WorldWanted& wanted, std::string why, RootTurn& turn) {
  report(wanted, why, turn);
  turn.to(wanted.process, wire::Answered{wanted.process, wire::kNoProcess, wanted.id, std::move(why), {}});
}

/// Refuses at once a request that can never be carried out. The others wait until all hosts are up, when the
/// processes have their places.
void Worlds::on(wire::WorldWanted wanted, const std::set<std::uint32_t>& absent, RootTurn& turn) {
  if (turn.is_over()) return;
  if (turn.judge().launch().all_up()) return decide(wanted, absent, turn);
  if (std::string why = why_not(wanted); !why.empty()) return refuse(wanted, std::move(why), turn);
  keep(std::move(wanted), turn);
}

void Worlds::keep(wire::WorldWanted wanted, RootTurn& turn) {
  const Asker asker{wanted.process, wanted.id};
  if (early_.contains(asker)) return;
  const std::size_t bytes = bytes_of(wanted);
  if (early_bytes_ + bytes > kMaxEarlyBytes)
    return refuse(wanted, fmt::format("requests of {} MiB wait until all hosts are up", kMaxEarlyBytes >> 20),
                  turn);
  early_bytes_ += bytes;
  early_.emplace(asker, std::move(wanted));
}

void Worlds::after_event(const std::set<std::uint32_t>& absent, RootTurn& turn) {
  if (early_.empty() || (!turn.is_over() && !turn.judge().launch().all_up())) return;
  early_bytes_ = 0;
  for (const auto& [asker, wanted] : std::exchange(early_, {})) {
    if (!turn.is_over()) decide(wanted, absent, turn);
  }
}

/// A request that is repeated gets the same answer again.
void Worlds::decide(const wire::WorldWanted& wanted, const std::set<std::uint32_t>& absent, RootTurn& turn) {
  const auto accept = [&](std::uint32_t first) {
    turn.to(wanted.process,
            wire::Answered{wanted.process, wire::kNoProcess, wanted.id, {}, std::to_string(first)});
  };
  const Asker asker{wanted.process, wanted.id};
  if (const auto known = begun_.find(asker); known != begun_.end()) return accept(known->second);
  if (std::string why = why_not(wanted); !why.empty()) return refuse(wanted, std::move(why), turn);
  if (processes_.empty()) {
    for (const Host& host : hosts_) processes_.push_back(host.processes);
  }
  const std::uint32_t first = processes();
  wire::WorldBegun world{wanted.id.service, wanted.process, {}, {}, wanted.given};
  std::uint32_t next = first;
  for (const wire::ProgramWanted& each : wanted.programs) {
    if (std::string why = place(each, absent, next, world.shares); !why.empty())
      return refuse(wanted, std::move(why), turn);
    world.programs.push_back(each.program);
    world.programs.back().first = next;
    world.programs.back().begins_world = next == first;
    next += each.processes;
  }
  for (const wire::Share& share : world.shares) {
    processes_[share.host] += share.processes;
    turn.judge().places().begin(share);
  }
  turn.say(Tone::verbose, fmt::format("process {} has started {} further processes, from number {} on",
                                      wanted.process, next - first, first));
  turn.to_all(std::move(world));
  begun_.emplace(asker, first);
  next_ = next;
  bytes_ += bytes_of(wanted);
  accept(first);
}

/// Each goes to the host with the fewest, and those of a host get numbers that follow each other.
std::string Worlds::place(const wire::ProgramWanted& wanted, const std::set<std::uint32_t>& absent,
                          std::uint32_t first, std::vector<wire::Share>& shares) {
  using Shelter = std::pair<std::uint32_t, std::uint32_t>;  // processes, host
  std::priority_queue<Shelter, std::vector<Shelter>, std::greater<>> hosts;
  std::map<std::uint32_t, std::uint32_t> counts;
  std::vector<std::uint32_t> so_far = processes_;
  for (const wire::Share& share : shares) so_far[share.host] += share.processes;
  for (const Host& host : hosts_) {
    const bool is_named = wanted.hosts.empty() || std::find(wanted.hosts.begin(), wanted.hosts.end(),
                                                            host.name) != wanted.hosts.end();
    if (is_named && !absent.contains(host.index)) hosts.push({so_far[host.index], host.index});
  }
  if (hosts.empty())
    return fmt::format("the job has no host called {}",
                       wanted.hosts.empty() ? std::string{} : wanted.hosts.front());
  if (wanted.processes > std::uint64_t{kMaxSpawnedOnHost} * hosts.size())
    return fmt::format("a host may be given {} processes by others: {} are too many for {} hosts",
                       kMaxSpawnedOnHost, wanted.processes, hosts.size());
  for (std::uint32_t i = 0; i < wanted.processes; ++i) {
    const auto [processes, host] = hosts.top();
    hosts.pop();
    ++counts[host];
    hosts.push({processes + 1, host});
  }
  for (const auto& [host, processes] : counts) {
    if (so_far[host] + processes - hosts_[host].processes > kMaxSpawnedOnHost)
      return fmt::format("a host may be given {} processes by others, and {} has been given {}",
                         kMaxSpawnedOnHost, hosts_[host].name, so_far[host] - hosts_[host].processes);
  }
  for (const auto& [host, processes] : counts) {
    shares.push_back({host, first, processes});
    first += processes;
  }
  return {};
}

}  // namespace charmtree::proto
