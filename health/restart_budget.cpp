// SPDX-License-Identifier: Apache-2.0
#include "health/restart_budget.hpp"

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
    return fmt::format("there {} been {} (++max-restarts)", restarts_ == 1 ? "has" : "have",
                       restarts_ == 1 ? "1 restart" : fmt::format("{} restarts", restarts_));
  restarts_ += is_one_more ? 1 : 0;
  ++record.restarts;
  return {};
}

std::uint32_t RestartBudget::restarts(std::uint32_t process) const {
  const auto found = records_.find(process);
  return found == records_.end() ? 0 : found->second.restarts;
}

Duration RestartBudget::pause(std::uint32_t process) const {
  const auto found = records_.find(process);
  const std::uint32_t losses = found == records_.end() ? 0 : found->second.losses;
  return losses > 1 ? first_pause_ * (1 << (losses - 2)) : Duration{0};
}

}  // namespace charmtree::proto
