// SPDX-License-Identifier: Apache-2.0
#include "tree/job/job_resizing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace charmtree::proto {

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

JobResizing::JobResizing(std::shared_ptr<wire::JobSpec> job, std::vector<Host>& hosts)
    : job_(std::move(job)), hosts_(hosts) {}

void JobResizing::on(const wire::PesWanted& wanted) {
  if (job_->resizes && !resizing_ && !reading_hosts_) wanted_pes_ = wanted.pes;
}

void JobResizing::on(const wire::Left& left) {
  if (resizing_) resizing_->left(left.process);
}

void JobResizing::on(const wire::Rejoined& back) {
  if (resizing_) resizing_->stayed(back.process);
}

void JobResizing::ask_for_hosts(RootTurn& turn) {
  if (!wanted_pes_ || turn.is_over()) return;
  const std::uint32_t pes = *std::exchange(wanted_pes_, std::nullopt);
  if (pes == 0 || pes % job_->pes_per_process != 0) {
    return turn.judge().refuse({Errc::bad_input, Phase::run,
                                fmt::format("the program asks to go on with {} PEs, {} in each process", pes,
                                            job_->pes_per_process)});
  }
  turn.say(Tone::info, fmt::format("the program wants to go on with {} processes instead of {}",
                                   pes / job_->pes_per_process, job_->processes));
  reading_hosts_ = true;
  turn.act(ReadHosts{pes});
}

/// Hosts that the job has keep their places; others come behind them.
void JobResizing::on(const HostsRead& event, Judge& judge, Instant now) {
  if (!reading_hosts_ || judge.verdict()) return;
  reading_hosts_ = false;
  if (event.error) return judge.refuse(*event.error);
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
void JobResizing::forget_unused_hosts(std::size_t first, std::vector<wire::Share>& shares) {
  std::vector<Host> fresh(hosts_.begin() + static_cast<std::ptrdiff_t>(first), hosts_.end());
  hosts_.resize(first);
  for (wire::Share& share : shares) {
    if (share.host < first) continue;
    Host& host = hosts_.emplace_back(std::move(fresh[share.host - first]));
    share.host = host.index = static_cast<std::uint32_t>(hosts_.size() - 1);
  }
}

std::optional<JobResizing::Reshaping> JobResizing::turn(RootTurn& turn) {
  ask_for_hosts(turn);
  if (!resizing_ || turn.is_over()) return std::nullopt;
  if (std::exchange(regroup_due_, false)) {
    turn.to_all(wire::Regroup{});
    turn.tell(Regrouping{});
  }
  if (resizing_->complete()) return reshape(turn);
  if (turn.now() < resizing_->deadline()) return std::nullopt;
  turn.judge().refuse(
      {Errc::timed_out, Phase::run,
       fmt::format("{} of {} processes have neither come back nor left within {:g} s after the program "
                   "asked to be resized",
                   resizing_->missing(), job_->processes, seconds(job_->timeout)),
       "see ++timeout"});
  return std::nullopt;
}

std::optional<JobResizing::Reshaping> JobResizing::reshape(RootTurn& turn) {
  auto shares = resizing_->shares(hosts_);
  resizing_.reset();
  if (!shares) return turn.judge().refuse(shares.error()), std::nullopt;
  const std::size_t had = job_->hosts;
  forget_unused_hosts(had, *shares);
  job_->hosts = static_cast<std::uint32_t>(hosts_.size());
  add_restart(job_->arguments);
  job_->provision = {};  // of hosts that join; here and there all has been counted
  for (Host& host : hosts_) host.processes = 0;
  for (const wire::Share& share : *shares) hosts_[share.host].processes = share.processes;
  job_->processes = number_processes(hosts_);
  job_->launch.on_host_failure = wire::OnHostFailure::abort;
  job_->starts_together = false;  // those that join start when they are ready
  Reshaping reshaping{*shares, {wire::encode(*shares), job_->arguments}, {}};
  for (std::size_t i = had; i < hosts_.size(); ++i) reshaping.joined.push_back(hosts_[i]);
  turn.judge().reshaped(turn.now());
  return reshaping;
}

}  // namespace charmtree::proto
