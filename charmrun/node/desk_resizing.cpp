// SPDX-License-Identifier: Apache-2.0
// The desk's part in resizing a job: the program asks, the shell reads the list of hosts again, all processes
// are let go, and when it is known which of them stay, hosts and processes get new numbers. From there on it
// is a start like the first: new processes register, and everybody gets a table.
#include <fmt/format.h>

#include <algorithm>

#include "charmrun/node/root_desk.hpp"

namespace charmtree {

using namespace proto;

namespace {

/// What a new process is told: where the state of the others lies. One that is told so already is told anew.
void add_restart(std::vector<std::string>& arguments) {
  const auto value_of = [&](std::string_view name) {
    const auto found = std::find(arguments.begin(), arguments.end(), name);
    return found == arguments.end() ? found : found + 1;
  };
  const auto folder = value_of("+shrinkexpand_basedir");
  const std::string where = folder == arguments.end() ? "/dev/shm" : *folder;
  const auto before = value_of("+restart");
  if (before != arguments.end())
    *before = where;
  else
    arguments.insert(arguments.end(), {"+restart", where});
}

}  // namespace

void RootDesk::ask_for_hosts(Actions& out) {
  if (!wanted_pes_ || judge_.verdict()) return;
  const std::uint32_t pes = *std::exchange(wanted_pes_, std::nullopt);
  if (pes == 0 || pes % job_->pes_per_process != 0) {
    return judge_.refuse({Errc::bad_input, Phase::run,
                          fmt::format("the program asks to go on with {} PEs, {} in each process", pes,
                                      job_->pes_per_process)});
  }
  out.push_back(Say{Tone::info, fmt::format("the program wants to go on with {} processes instead of {}",
                                            pes / job_->pes_per_process, job_->processes)});
  reading_hosts_ = true;
  out.push_back(ReadHosts{pes});
}

/// Hosts that the job has keep their places; others come behind them.
void RootDesk::hosts_read(const HostsRead& event, Instant now) {
  if (!reading_hosts_ || judge_.verdict()) return;
  reading_hosts_ = false;
  if (event.error) return judge_.refuse(*event.error);
  std::vector<std::uint32_t> wanted(hosts_.size());
  for (Host host : event.hosts) {
    const auto known =
        std::find_if(hosts_.begin(), hosts_.end(), [&](const Host& each) { return each.name == host.name; });
    if (known != hosts_.end()) {
      wanted[known->index] += host.processes;
      continue;
    }
    const Profile& profile = event.profiles[host.profile];
    auto& profiles = job_->profiles;
    const auto same = std::find(profiles.begin(), profiles.end(), profile);
    host.profile = static_cast<std::uint32_t>(same - profiles.begin());
    if (same == profiles.end()) profiles.push_back(profile);
    host.index = static_cast<std::uint32_t>(hosts_.size());
    host.machine = 0;
    wanted.push_back(host.processes);
    host.first_process = host.processes = 0;
    hosts_.push_back(std::move(host));
  }
  resizing_.emplace(job_->processes, std::move(wanted), now + job_->timeout);
  regroup_due_ = true;
}

/// New hosts, from `first` on, that get no process after all.
void RootDesk::forget_unused_hosts(std::size_t first, std::vector<wire::Share>& shares) {
  std::vector<Host> fresh(hosts_.begin() + static_cast<std::ptrdiff_t>(first), hosts_.end());
  hosts_.resize(first);
  for (wire::Share& share : shares) {
    if (share.host < first) continue;
    Host& host = hosts_.emplace_back(std::move(fresh[share.host - first]));
    share.host = host.index = static_cast<std::uint32_t>(hosts_.size() - 1);
  }
}

void RootDesk::resize(Instant now, Actions& out, DeskOrders& orders) {
  ask_for_hosts(out);
  const std::vector<std::uint32_t> left = std::exchange(left_, {});
  if (!resizing_ || judge_.verdict()) return;
  if (std::exchange(regroup_due_, false)) {
    orders.everyone.push_back(wire::Regroup{});
    if (ccs_) ccs_->start({}, now, out, orders.process);  // processes that are let go heed no request
  }
  for (const wire::Rejoined& message : std::exchange(rejoined_, {})) resizing_->stayed(message.process);
  for (const std::uint32_t process : left) resizing_->left(process);
  if (resizing_->complete()) return reshape(now, orders);
  if (now < resizing_->deadline()) return;
  judge_.refuse(
      {Errc::timed_out, Phase::run,
       fmt::format("{} of {} processes have neither come back nor left within {:g} s after the program "
                   "asked to be resized",
                   resizing_->missing(), job_->processes, seconds(job_->timeout)),
       "see ++timeout"});
}

void RootDesk::reshape(Instant now, DeskOrders& orders) {
  auto shares = resizing_->shares(hosts_);
  resizing_.reset();
  if (!shares) return judge_.refuse(shares.error());
  const std::size_t had = job_->hosts;
  forget_unused_hosts(had, *shares);
  job_->hosts = static_cast<std::uint32_t>(hosts_.size());
  add_restart(job_->arguments);
  job_->provision = {};  // of hosts that join; here and there all has been counted
  for (Host& host : hosts_) host.processes = 0;
  for (const wire::Share& share : *shares) hosts_[share.host].processes = share.processes;
  job_->processes = number_processes(hosts_);
  job_->launch.on_failure = wire::OnHostFailure::abort;
  job_->starts_together = false;  // those that join start when they are ready
  coded_job_ = wire::encode(*job_);
  orders.numbers = *shares;
  orders.reshape = wire::Reshape{wire::encode(*shares), job_->arguments};
  for (std::size_t i = had; i < hosts_.size(); ++i) orders.new_hosts.push_back(hosts_[i]);
  judge_.reshaped(now);
}

}  // namespace charmtree
