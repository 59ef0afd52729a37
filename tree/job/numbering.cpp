// SPDX-License-Identifier: Apache-2.0
#include "tree/job/numbering.hpp"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "tree/job/provision.hpp"

namespace charmtree::proto {

Numbering::Numbering(std::shared_ptr<wire::JobSpec> job, std::vector<Host>& hosts, Narrow narrow)
    : job_(std::move(job)), hosts_(hosts), narrow_(narrow) {
  if (job_->provision.by_topology()) topologies_.resize(hosts_.size());
}

void Numbering::put_off() {
  for (Host& host : hosts_) {
    if (host.processes > 0) wanted_.push_back(host.processes);
    host.first_process = host.processes = 0;
  }
}

void Numbering::on(const wire::HostTopology& told) {
  for (std::uint32_t i = 0; i < told.hosts; ++i) topologies_.at(told.first_host + i) = told.topology;
}

void Numbering::check_input(Judge& judge) const {
  if (job_->input.process == wire::kNoProcess || job_->input.process < job_->processes) return;
  judge.refuse({Errc::bad_input, Phase::options,
                fmt::format("there is no process {} for the input: the job has {}", job_->input.process,
                            job_->processes),
                "++stdin takes a process number, from 0, or all or none"});
}

/// The hosts that run something, in order, with what each was to run. drop: each living host; spare, abort:
/// the first living hosts take all places. Nobody, if there are too few.
std::vector<Host*> Numbering::take_places(Judge& judge) {
  const bool drop = job_->launch.on_host_failure == wire::OnHostFailure::drop;
  const std::set<std::uint32_t> failed = judge.launch().failed_hosts();
  std::vector<Host*> taken;
  std::size_t place = 0, living = 0;
  for (Host& host : hosts_) {
    const bool lives = !failed.contains(host.index);
    living += lives ? 1 : 0;
    if (drop && !lives) ++place;
    if (!lives || place >= wanted_.size()) continue;
    host.processes = wanted_[place++];
    taken.push_back(&host);
  }
  if (!taken.empty() && (place >= wanted_.size() || narrow_ == Narrow::yes)) return taken;
  judge.decision().too_few(fmt::format("{} of {} hosts are left, the job needs {}{}", living, hosts_.size(),
                                       drop ? 1 : wanted_.size(),
                                       drop || job_->session   ? ""
                                       : narrow_ == Narrow::no ? "; see ++spare-hosts"
                                                               : "; see ++spare-hosts and ++shrink-ok"));
  return {};
}

/// The tree of a session, before there is anything to run.
void Numbering::take_stock(RootTurn& turn) {
  const std::size_t failed = turn.judge().launch().failed_hosts().size();
  if (failed == hosts_.size()) return turn.judge().decision().too_few("no host is left for the session");
  for (const std::string& line : turn.judge().numbered(turn.now())) turn.say(Tone::info, "left out: " + line);
  turn.judge().decision().nothing_to_run();
}

/// Numbers have no gaps.
std::vector<wire::Share> Numbering::number(RootTurn& turn) {
  if (wanted_.empty()) return take_stock(turn), std::vector<wire::Share>{};
  const std::vector<Host*> taken = take_places(turn.judge());
  if (taken.empty()) return {};
  std::vector<ProvisionSite> sites;
  sites.reserve(taken.size());
  for (const Host* host : taken)
    sites.push_back(
        {host->name, topologies_.empty() ? Topology{} : topologies_[host->index], host->processes});
  const auto provisioned = provision(job_->provision, job_->pes_per_process, sites);
  if (!provisioned) return turn.judge().refuse(provisioned.error()), std::vector<wire::Share>{};
  for (Host& host : hosts_) host.processes = 0;
  for (std::size_t i = 0; i < taken.size(); ++i) taken[i]->processes = provisioned->processes[i];
  const std::uint32_t before = std::exchange(job_->processes, number_processes(hosts_));
  check_input(turn.judge());
  std::vector<wire::Share> shares;
  shares.reserve(taken.size());
  for (const Host* host : taken) shares.push_back({host->index, host->first_process, host->processes});
  job_->pes_per_process = provisioned->pes_per_process;
  say_numbers(turn, taken.size(), before);
  return shares;
}

void Numbering::say_numbers(RootTurn& turn, std::size_t hosts, std::uint32_t before) const {
  const std::vector<std::string> lines = turn.judge().numbered(turn.now());
  for (const std::string& line : lines) turn.say(Tone::info, "left out: " + line);
  const bool counted = job_->provision.process_unit > CpuUnit::host;
  const std::string of = counted ? "" : fmt::format(" of {}", before);
  if (!lines.empty()) {
    turn.say(Tone::info,
             fmt::format("the job runs on {} hosts, with {}{} processes", hosts, job_->processes, of));
  }
  if (job_->provision.by_topology()) {
    turn.say(Tone::verbose, fmt::format("by the hosts' processors: {} processes on {} hosts, PEs in each: {}",
                                        job_->processes, hosts, job_->pes_per_process));
  }
}

}  // namespace charmtree::proto
