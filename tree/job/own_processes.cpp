// SPDX-License-Identifier: Apache-2.0
#include "tree/job/own_processes.hpp"

#include <utility>

namespace charmtree::proto {

OwnProcesses::OwnProcesses(const Host& self, std::uint32_t total)
    : local_{self.first_process, self.processes, total},
      names_(self.first_process, self.processes),
      processes_(self.processes) {}

std::vector<std::uint32_t> OwnProcesses::living() const {
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < local_.size(); ++i) {
    if (processes_[i].is_alive()) numbers.push_back(local_.at(i));
  }
  return numbers;
}

std::vector<std::uint32_t> OwnProcesses::due(Instant now) const {
  if (next_deadline() > now) return {};
  std::vector<std::uint32_t> processes = deadlines_.due(now);
  for (std::uint32_t& each : processes) each = local_.at(each);
  return processes;
}

void OwnProcesses::starts(std::uint32_t process) {
  at(process).state = OwnProcess::State::starting;
  ++alive_;
}

void OwnProcesses::is_gone(std::uint32_t process) {
  const bool was_alive = at(process).is_alive();
  at(process).state = OwnProcess::State::gone;
  if (was_alive) --alive_;
}

bool OwnProcesses::join(std::uint32_t process) {
  if (local_.contains(process)) return false;
  local_.joined.add(process);
  processes_.emplace_back();
  return true;
}

std::uint32_t OwnProcesses::reshape(const wire::Share& share, std::uint32_t total) {
  phase_.regrouping = false;
  std::vector<OwnProcess> processes;
  std::vector<std::uint32_t> names;
  for (std::uint32_t i = 0; i < local_.count; ++i) {
    if (!processes_[i].kind) continue;
    names.push_back(name_of(local_.first + i));
    processes.push_back(std::move(processes_[i]));
  }
  const auto staying = static_cast<std::uint32_t>(processes.size());
  processes.resize(share.processes);
  processes_ = std::move(processes);
  local_ = {share.first_process, share.processes, total};
  deadlines_.touch_all(share.processes);
  names_.renumber(share.first_process, std::move(names), share.processes);
  return staying;
}

bool OwnProcesses::translate(std::uint32_t& process) const {
  const auto found = names_.process_of(process);
  if (!found || !local_.contains(*found)) return false;
  process = *found;
  return true;
}

}  // namespace charmtree::proto
