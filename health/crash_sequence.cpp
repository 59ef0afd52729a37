// SPDX-License-Identifier: Apache-2.0
#include "health/crash_sequence.hpp"

#include <algorithm>

namespace charmtree::proto {

/// Those that run and have a table.
std::uint32_t CrashSequence::survivors() const {
  return table_.processes() -
         static_cast<std::uint32_t>(joining_.size() + queue_.size() + (starting_ ? 1 : 0));
}

std::string CrashSequence::lost(std::uint32_t process, Instant now) {
  if (std::find(queue_.begin(), queue_.end(), process) != queue_.end()) return {};
  std::string hopeless = budget_.lost(process, now);
  if (!hopeless.empty()) return hopeless;
  joining_.erase(process);
  spreading_ = false;
  if (starting_ == process) {
    starting_.reset();
    queue_.push_front(process);
  } else {
    queue_.push_back(process);
  }
  if (survivors() == 0) return "no process is left that could hold its checkpoint";
  begin_next(now);
  return {};
}

void CrashSequence::begin_next(Instant now) {
  if (starting_ || queue_.empty()) return;
  starting_ = queue_.front();
  queue_.pop_front();
  orders_.emplace_back(wire::Restart{*starting_, ++phase_, budget_.restarts(*starting_)});
  register_by_ = stalled_ ? kNever : now + timeout_;
}

void CrashSequence::rejoined(const wire::Rejoined& message, Instant now) {
  if (starting_ != message.process) return;
  starting_.reset();
  register_by_ = kNever;
  joining_.insert(message.process);
  for (wire::TupleBlock& block : table_.blocks) {
    const std::uint32_t place = message.process - block.first_process;
    if (message.process >= block.first_process && place < block.tuples.size())
      block.tuples[place].port = message.port;
  }
  ++table_.epoch;
  orders_.emplace_back(
      wire::Recover{message.process, {joining_.begin(), joining_.end()}, wire::encode(table_)});
  acks_ = 0;
  spreading_ = queue_.empty();
  begin_next(now);
}

void CrashSequence::acked(std::uint32_t epoch, std::uint32_t count, Instant now) {
  if (!spreading_ || epoch != table_.epoch) return;
  acks_ += count;
  if (acks_ < survivors()) return;
  spreading_ = false;
  for (const std::uint32_t process : joining_) {
    orders_.emplace_back(wire::Admit{process});
    budget_.runs(process, now);
  }
  joining_.clear();
}

void CrashSequence::stalled(bool stalled, Instant now) {
  stalled_ = stalled;
  register_by_ = starting_ && !stalled ? now + timeout_ : kNever;
}

std::optional<std::uint32_t> CrashSequence::late(Instant now) const {
  return now >= register_by_ ? starting_ : std::nullopt;
}

}  // namespace charmtree::proto
