// SPDX-License-Identifier: Apache-2.0
// The part of HostProcesses for jobs that are resized. Every client is let go; which ones stay shows when
// they register again, under the name that they were started with. Then all get new numbers, those that stay
// in their order and behind them new ones, which are still to be started.
#include <algorithm>
#include <utility>

#include "tree/proto/binding.hpp"
#include "tree/proto/host_processes.hpp"

namespace charmtree::proto {

std::uint32_t HostProcesses::name_of(std::uint32_t process) const {
  return names_.empty() ? process : names_[process - local_.first];
}

bool HostProcesses::translate(std::uint32_t& process) const {
  if (names_.empty()) return local_.contains(process);
  const auto found = std::find(names_.begin(), names_.end(), process);
  if (found == names_.end()) return false;
  process = local_.first + static_cast<std::uint32_t>(found - names_.begin());
  return true;
}

void HostProcesses::regroup(Instant now, Actions& out, Upward& up) {
  if (ending_) return;
  regrouping_ = true;
  for (std::uint32_t i = 0; i < local_.count; ++i) {
    Process& process = processes_[i];
    process.kind.reset();
    process.copied = {};
    process.lost = false;
    process.explain_by = kNever;
    flush(local_.first + i, wire::Tail::ended, up);
  }
  ask_each([](ClientServer& each, ClientOutputs& outputs) { each.regroup(outputs); }, now, out, up);
}

void HostProcesses::reshape(const wire::Share& share, Instant now, Upward& up) {
  regrouping_ = false;
  std::vector<Process> processes;
  std::vector<std::uint32_t> names;
  for (std::uint32_t i = 0; i < local_.count; ++i) {
    if (!processes_[i].kind) continue;
    names.push_back(name_of(local_.first + i));
    processes.push_back(std::move(processes_[i]));
  }
  const auto staying = static_cast<std::uint32_t>(processes.size());
  processes.resize(share.processes);
  while (names.size() < processes.size()) names.push_back(next_name_++);
  processes_ = std::move(processes);
  local_ = {share.first_process, share.processes, job_->processes};
  for (const auto& server : servers_) server->reshape(local_, names);
  names_ = std::move(names);
  bindings_.clear();
  for (std::uint32_t rank = 0; host_.cpus && rank < local_.count; ++rank)
    bindings_.push_back(binding_of(*job_, *host_.cpus, rank));
  spawned_ = started_ = registered_ = staying;
  spawned_at_ = registered_at_ = kNever;
  up.facts.registered += staying;
  if (staying < local_.count) return;
  spawned_at_ = now;
  if (local_.count == 0) return;
  up.facts.hosts_up.push_back(self_.index);
  tell_tuples(now, up);
}

}  // namespace charmtree::proto
