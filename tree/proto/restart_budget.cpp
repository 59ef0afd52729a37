// SPDX-License-Identifier: Apache-2.0
#include "tree/proto/restart_budget.hpp"

#include <fmt/format.h>

namespace charmtree::proto {

std::string RestartBudget::lost(std::uint32_t process, Instant now, Counts counts) {
  Record& record = records_[process];
  const bool settled = record.began != kNever && now - record.began >= kSettled;
  record.losses = settled ? 1 : record.losses + 1;
  record.began = kNever;
  if (record.losses > kMostInARow)
    return fmt::format("it was restarted {} times and never ran for {:g} s", kMostInARow, seconds(kSettled));
  const bool is_one_more = counts == Counts::itself;
  if (is_one_more && restarts_ >= most_)
    return fmt::format("processes have been restarted {} {} (++max-restarts)", restarts_,
                       restarts_ == 1 ? "time" : "times");
  restarts_ += is_one_more ? 1 : 0;
  ++record.restarts;
  return {};
}

std::uint32_t RestartBudget::restarts(std::uint32_t process) const {
  const auto found = records_.find(process);
  return found == records_.end() ? 0 : found->second.restarts;
}

std::uint32_t RestartBudget::in_a_row(std::uint32_t process) const {
  const auto found = records_.find(process);
  return found == records_.end() ? 0 : found->second.losses;
}

}  // namespace charmtree::proto
