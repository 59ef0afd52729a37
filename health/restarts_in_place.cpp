// SPDX-License-Identifier: Apache-2.0
#include "health/restarts_in_place.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tree/turn/job_status.hpp"
#include "tree/wire/words.hpp"

namespace charmtree::proto {

RestartsInPlace::RestartsInPlace(std::shared_ptr<const wire::JobSpec> job, const std::vector<Host>& hosts,
                                 const Rules& rules)
    : job_(std::move(job)),
      hosts_(hosts),
      restarts_(rules.most, job_->timeout),
      relocation_(rules.old_life) {}

void RestartsInPlace::begin(wire::NodeTable table) {
  has_table_ = true;
  has_charm_table_ = !table.is_native();
  restarts_.begin(std::move(table));
}

/// One that was not awaited is in the first table.
void RestartsInPlace::on(const wire::Rejoined& message, Judge& judge, Instant now) {
  const std::uint32_t host = judge.places().host_of(message.process).index;
  if (!restarts_.rejoined(message, host, now))
    judge.registered({host, message.process, message.address, {{message.port, message.tuple}}}, now);
}

void RestartsInPlace::restart(const wire::ProcessExit& exit, RootTurn& turn) {
  const bool has_registered = exit.registered || exit.ended;
  const std::string hopeless = restarts_.lost(exit.process, has_registered, turn.now());
  if (!hopeless.empty()) return turn.judge().lost(exit, hopeless);
  last_exits_[exit.process] = exit;
  const std::uint32_t times = restarts_.restarts(exit.process);
  turn.judge().decision().restarted(exit.process, times);
  const std::string again = times > 1 ? fmt::format(", for the {} time", ordinal(times)) : "";
  turn.say(Tone::error, fmt::format("{}; restarting it{}", turn.judge().exits().about(exit), again));
  turn.tell(ProcessReplaced{exit.process});
  const std::uint32_t host = turn.judge().places().host_of(exit.process).index;
  turn.tell(Progress::ProcessRestart{exit.process, host, times, describe(exit)});
}

std::vector<wire::Restart> RestartsInPlace::turn(const std::set<std::uint32_t>& absent, RootTurn& turn) {
  if (turn.is_over()) return {};
  move_processes(absent, turn);
  for (const wire::ProcessExit& exit : turn.judge().take_crashes()) {
    restart(exit, turn);
    if (turn.is_over()) return {};
  }
  if (const auto late = restarts_.late(turn.now())) {
    turn.judge().lost(last_exits_.at(*late),
                      fmt::format("it was restarted and has not registered within {:g} s; see ++timeout",
                                  seconds(job_->timeout)));
    return {};
  }
  ProcessRestarts::Orders due =
      restarts_.take_orders(turn.judge().barriers().opened(BarrierKind::all), turn.now());
  if (due.renewed) {
    turn.judge().begin_epoch(due.renewed->epoch);
    turn.to_all(std::move(*due.renewed));
  }
  for (wire::Readmit& message : due.readmissions) {
    turn.say(Tone::verbose, fmt::format("process {} is back", message.process));
    const std::uint32_t process = message.process;
    turn.to(process, std::move(message));
  }
  return std::move(due.restarts);
}

// ---- hosts are lost

/// The hosts with living launchers, and how many processes each has.
std::vector<Shelter> RestartsInPlace::shelters(const std::set<std::uint32_t>& absent,
                                               const Judge& judge) const {
  std::vector<Shelter> living;
  for (const Host& host : hosts_) {
    if (lost_hosts_.contains(host.index) || absent.contains(host.index)) continue;
    living.push_back(
        {host.index, static_cast<std::uint32_t>(judge.places().unfinished_on(host.index).size())});
  }
  return living;
}

/// Whom a loss takes with it is for us to say: who told of it may not have heard yet of all that had been
/// moved there. A client of the library that has said that it is done is not heard any more, and would be
/// missed where all say that they leave.
bool RestartsInPlace::on(const wire::LinkLost& lost, const std::set<std::uint32_t>& absent,
                         const OrphanBound& bound, RootTurn& turn) {
  if (lost.lives || !turn.judge().can_move() || has_charm_table_) return false;
  std::vector<std::uint32_t> hosts;
  for (const std::uint32_t host : lost.hosts) {
    if (host < hosts_.size() && lost_hosts_.insert(host).second) hosts.push_back(host);
  }
  if (hosts.empty() && !lost.hosts.empty()) return true;  // it has been told before
  const bool any_done = has_table_ && std::any_of(hosts.begin(), hosts.end(), [&](std::uint32_t host) {
                          return turn.judge().places().any_finished_on(host);
                        });
  if (any_done || shelters(absent, turn.judge()).empty()) return false;
  lose_hosts(lost, hosts, bound, turn);
  return true;
}

void RestartsInPlace::lose_hosts(const wire::LinkLost& lost, const std::vector<std::uint32_t>& hosts,
                                 const OrphanBound& bound, RootTurn& turn) {
  wire::ProcessSet all;
  std::vector<std::uint32_t> others;
  for (const std::uint32_t host : hosts) {
    if (host != lost.host) others.push_back(host);
    std::vector<std::uint32_t> processes = turn.judge().places().unfinished_on(host);
    for (const std::uint32_t process : processes) {
      if (!lose_with_host(process, lost, all.empty(), turn)) return;
      all.add(process);
      turn.tell(ProcessReplaced{process});
    }
    relocation_.lost(host, std::move(processes), turn.now(), !lost.unbounded && bound.holds_for(host));
  }
  std::string line = fmt::format("{}: {}; ", hosts_[lost.host].name, to_string(lost.error));
  if (all.empty())
    line += "no process was there";
  else
    line += fmt::format("restarting {} {} on other hosts", all.size() == 1 ? "process" : "processes",
                        all.print());
  if (!others.empty())
    line += fmt::format("; its launcher had started those of {}", names_of(others, hosts_));
  turn.say(Tone::error, std::move(line));
}

/// False: it is not started again, and the job ends.
bool RestartsInPlace::lose_with_host(std::uint32_t process, const wire::LinkLost& lost, bool is_first,
                                     RootTurn& turn) {
  const wire::ProcessExit exit{.process = process,
                               .registered = has_table_,
                               .lost_connection = true,
                               .text = "its host was lost: " + to_string(lost.error)};
  using Counts = RestartBudget::Counts;
  const std::string hopeless = restarts_.lost_with_host(
      process, has_table_, is_first ? Counts::itself : Counts::with_another, turn.now());
  if (!hopeless.empty()) return turn.judge().lost(exit, hopeless), false;
  last_exits_[process] = exit;
  turn.judge().decision().restarted(process, restarts_.restarts(process));
  lost_by_[process] = to_string(lost.error);
  return true;
}

/// Those whose old selves are dead get their hosts.
void RestartsInPlace::move_processes(const std::set<std::uint32_t>& absent, RootTurn& turn) {
  if (const auto process = relocation_.take_hopeless(turn.now())) {
    return turn.judge().lost(last_exits_.at(*process),
                             "it may still run there, and nothing bounds for how long (++fast-failover "
                             "restarts it all the same)");
  }
  const std::vector<std::vector<std::uint32_t>> dead = relocation_.take(turn.now());
  if (dead.empty()) return;
  wire::Moved moved;
  std::vector<Shelter> living = shelters(absent, turn.judge());
  for (const std::vector<std::uint32_t>& processes : dead) {
    for (const wire::Share& share : shelter(processes, living)) {
      turn.judge().places().move(share);
      moved.shares.push_back(share);
    }
    for (const std::uint32_t process : processes) {
      restarts_.placed(process);
      const Host& host = turn.judge().places().host_of(process);
      const std::uint32_t times = restarts_.restarts(process);
      turn.say(Tone::verbose, fmt::format("process {} goes on on {}", process, host.name));
      turn.tell(Progress::ProcessRestart{process, host.index, times, lost_by_[process]});
    }
  }
  turn.to_all(std::move(moved));
}

}  // namespace charmtree::proto
