// SPDX-License-Identifier: Apache-2.0
#include "tree/overlay/machine_gate.hpp"

namespace charmtree::proto {

bool MachineGate::admits(std::uint32_t machine, Instant now) const {
  const auto it = machines_.find(machine);
  return it == machines_.end() || (it->second.in_flight < it->second.most && it->second.opens <= now);
}

Instant MachineGate::opens(std::uint32_t machine) const {
  const auto it = machines_.find(machine);
  return it == machines_.end() ? Instant::min() : it->second.opens;
}

void MachineGate::begun(std::uint32_t machine) {
  if (machine != 0) ++machines_[machine].in_flight;
}

void MachineGate::succeeded(std::uint32_t machine) {
  const auto it = machines_.find(machine);
  if (it == machines_.end()) return;
  it->second.most = kMost;
  if (--it->second.in_flight == 0) machines_.erase(it);
}

void MachineGate::cancelled(std::uint32_t machine) {
  const auto it = machines_.find(machine);
  if (it == machines_.end()) return;
  if (--it->second.in_flight == 0 && it->second.most == kMost) machines_.erase(it);
}

void MachineGate::failed(std::uint32_t machine, Errc code, Instant now) {
  const auto it = machines_.find(machine);
  if (it == machines_.end()) return;
  if (code == Errc::busy || code == Errc::penalised) it->second.most = 1;
  if (code == Errc::penalised) it->second.opens = now + kPenalty;
  cancelled(machine);
}

}  // namespace charmtree::proto
