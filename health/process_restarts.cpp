// SPDX-License-Identifier: Apache-2.0
#include "health/process_restarts.hpp"

#include <algorithm>

namespace charmtree::proto {

std::string ProcessRestarts::lost(std::uint32_t process, bool has_registered, Instant now) {
  std::string hopeless = budget_.lost(process, now);
  if (!hopeless.empty()) return hopeless;
  due_[process] = now + budget_.pause(process);
  forget(process, has_registered);
  return {};
}

std::string ProcessRestarts::lost_with_host(std::uint32_t process, bool has_registered,
                                            RestartBudget::Counts counts, Instant now) {
  if (unplaced_.contains(process)) return {};
  if (const auto due = due_.find(process); due != due_.end()) {  // it had been lost before
    unplaced_[process] = due->second;
    due_.erase(due);
    return {};
  }
  std::string hopeless = budget_.lost(process, now, counts);
  if (!hopeless.empty()) return hopeless;
  unplaced_[process] = now;
  forget(process, has_registered);
  return {};
}

void ProcessRestarts::placed(std::uint32_t process) {
  const auto unplaced = unplaced_.find(process);
  if (unplaced == unplaced_.end()) return;
  due_[process] = unplaced->second;
  unplaced_.erase(unplaced);
}

/// The life that is over.
void ProcessRestarts::forget(std::uint32_t process, bool has_registered) {
  if (table_ || has_registered) awaited_.insert(process);
  register_by_.erase(process);
  std::erase_if(back_, [&](const wire::TupleBlock& block) { return block.first_process == process; });
}

bool ProcessRestarts::rejoined(const wire::Rejoined& message, std::uint32_t host, Instant now) {
  if (register_by_.erase(message.process) == 0) return false;
  budget_.runs(message.process, now);
  back_.push_back({host, message.process, message.address, {wire::Tuple{message.port, message.tuple}}});
  return true;
}

ProcessRestarts::Orders ProcessRestarts::take_orders(std::uint32_t barriers, Instant now) {
  Orders orders;
  if (table_ && !back_.empty()) {
    for (const wire::TupleBlock& block : back_) wire::renew(table_->blocks, block);
    ++table_->epoch;
    const wire::Blob coded = wire::encode(*table_);
    for (const wire::TupleBlock& block : back_)
      orders.readmissions.push_back({block.first_process, barriers, coded});
    std::sort(back_.begin(), back_.end(),
              [](const auto& a, const auto& b) { return a.first_process < b.first_process; });
    orders.renewed = wire::Renewed{table_->epoch, std::exchange(back_, {})};
  }
  for (auto next = due_.begin(); next != due_.end();) {
    const auto [process, at] = *next++;
    if (at > now) continue;
    due_.erase(process);
    const bool awaited = awaited_.erase(process) > 0;
    orders.restarts.push_back({process, 0, budget_.restarts(process), false, awaited});
    if (awaited)
      register_by_[process] = stalled_ ? kNever : now + timeout_;
    else
      budget_.runs(process, now);
  }
  return orders;
}

void ProcessRestarts::stalled(bool stalled, Instant now) {
  stalled_ = stalled;
  for (auto& [process, by] : register_by_) by = stalled ? kNever : now + timeout_;
}

std::optional<std::uint32_t> ProcessRestarts::late(Instant now) const {
  for (const auto& [process, by] : register_by_) {
    if (now >= by) return process;
  }
  return {};
}

Instant ProcessRestarts::next_deadline() const {
  Instant deadline = kNever;
  for (const auto& [process, at] : due_) deadline = earlier(deadline, at);
  for (const auto& [process, by] : register_by_) deadline = earlier(deadline, by);
  return deadline;
}

}  // namespace charmtree::proto
