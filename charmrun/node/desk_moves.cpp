// SPDX-License-Identifier: Apache-2.0
// The desk's part in a loss of hosts where single processes are started again: those that were there go on
// elsewhere (DESIGN D24), on spares or beside others, as soon as nothing of them can be left.
#include <fmt/format.h>

#include <algorithm>

#include "charmrun/node/root_desk.hpp"
#include "tree/wire/fold.hpp"

namespace charmtree {

using namespace proto;

/// The hosts with living launchers, and how many processes each has.
std::vector<Shelter> RootDesk::shelters() const {
  std::vector<Shelter> living;
  for (const Host& host : hosts_) {
    if (lost_hosts_.contains(host.index) || absent_.contains(host.index)) continue;
    living.push_back({host.index, static_cast<std::uint32_t>(judge_.unfinished_on(host.index).size())});
  }
  return living;
}

/// False: the job cannot go on so. Whom a loss takes with it is for us to say: who told of it may not have
/// heard yet of all that had been moved there. A client of the library that has said that it is done is not
/// heard any more, and would be missed where all say that they leave.
bool RootDesk::relocate(const wire::LinkLost& lost, Instant now, Actions& out, DeskOrders& orders) {
  if (!process_restarts_ || lost.lives || !judge_.can_move() || has_charm_table_) return false;
  std::vector<std::uint32_t> hosts;
  for (const std::uint32_t host : lost.hosts) {
    if (host < hosts_.size() && lost_hosts_.insert(host).second) hosts.push_back(host);
  }
  if (hosts.empty() && !lost.hosts.empty()) return true;  // it has been told before
  const bool any_done = tables_ > 0 && std::any_of(hosts.begin(), hosts.end(), [&](std::uint32_t host) {
                          return judge_.any_finished_on(host);
                        });
  if (any_done || shelters().empty()) return false;
  lose_hosts(lost, hosts, now, out, orders);
  return true;
}

void RootDesk::lose_hosts(const wire::LinkLost& lost, const std::vector<std::uint32_t>& hosts, Instant now,
                          Actions& out, DeskOrders& orders) {
  wire::ProcessSet all;
  std::vector<std::uint32_t> others;
  for (const std::uint32_t host : hosts) {
    if (host != lost.host) others.push_back(host);
    std::vector<std::uint32_t> processes = judge_.unfinished_on(host);
    for (const std::uint32_t process : processes) {
      if (!lose_with_host(process, lost, all.empty(), now)) return;
      all.add(process);
      if (ccs_) ccs_->gone(process, now, out, orders.process);
      input_.restarts(process);
    }
    relocation_->lost(host, std::move(processes), now, !lost.unbounded && is_bounded(host));
  }
  std::string line = fmt::format("{}: {}; ", hosts_[lost.host].name, to_string(lost.error));
  if (all.empty())
    line += "no process was there";
  else
    line += fmt::format("restarting {} {} on other hosts", all.size() == 1 ? "process" : "processes",
                        all.print());
  if (!others.empty()) line += fmt::format("; its launcher had started those of {}", names(others));
  out.push_back(Say{Tone::error, std::move(line)});
}

/// False: it is not started again, and the job ends.
bool RootDesk::lose_with_host(std::uint32_t process, const wire::LinkLost& lost, bool is_first, Instant now) {
  const wire::ProcessExit exit{.process = process,
                               .registered = tables_ > 0,
                               .lost_connection = true,
                               .text = "its host was lost: " + to_string(lost.error)};
  using Counts = RestartBudget::Counts;
  const std::string hopeless = process_restarts_->lost_with_host(
      process, tables_ > 0, is_first ? Counts::itself : Counts::with_another, now);
  if (!hopeless.empty()) return judge_.lost(exit, hopeless), false;
  last_exits_[process] = exit;
  judge_.restarted(process, process_restarts_->restarts(process));
  lost_by_[process] = to_string(lost.error);
  return true;
}

/// Those whose old selves are dead get their hosts.
void RootDesk::move_processes(Instant now, Actions& out, DeskOrders& orders) {
  if (const auto process = relocation_->take_hopeless(now)) {
    return judge_.lost(last_exits_.at(*process),
                       "it may still run there, and nothing bounds for how long (++fast-failover restarts it "
                       "all the same)");
  }
  const std::vector<std::vector<std::uint32_t>> dead = relocation_->take(now);
  if (dead.empty()) return;
  wire::Moved moved;
  std::vector<Shelter> living = shelters();
  for (const std::vector<std::uint32_t>& processes : dead) {
    for (const wire::Share& share : shelter(processes, living)) {
      judge_.moved(share);
      moved.shares.push_back(share);
    }
    for (const std::uint32_t process : processes) {
      process_restarts_->placed(process);
      const Host& host = judge_.host_of(process);
      const std::uint32_t times = process_restarts_->restarts(process);
      out.push_back(Say{Tone::verbose, fmt::format("process {} goes on on {}", process, host.name)});
      if (tells_progress_) progress_.restarts.push_back({process, host.index, times, lost_by_[process]});
    }
  }
  orders.everyone.emplace_back(std::move(moved));
}

}  // namespace charmtree
