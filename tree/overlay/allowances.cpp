// SPDX-License-Identifier: Apache-2.0
#include "tree/overlay/allowances.hpp"

#include <algorithm>
#include <utility>

namespace charmtree::proto {

bool Allowances::Used::take(std::int64_t cost, std::int64_t most, std::int64_t per_second, Instant now) {
  if (at_ == kNever) at_ = now;
  const std::int64_t whole = std::max<std::int64_t>(0, (now - at_) / 1s);
  at_ += whole * Duration{1s};
  used_ = whole >= used_ / per_second + 1 ? 0 : used_ - whole * per_second;
  if (used_ + cost > most) return false;
  used_ += cost;
  return true;
}

bool Allowances::message(LinkId link, Instant now) {
  Account& account = accounts_[link];
  const auto hosts = static_cast<std::int64_t>(account.remit.hosts);
  const auto processes = static_cast<std::int64_t>(account.remit.processes);
  const std::int64_t most = kMessages + kMessagesOfHost * hosts + kMessagesOfProcess * processes;
  return account.messages.take(1, most, kMessagesPerSecond * (1 + hosts + processes), now);
}

bool Allowances::line(LinkId link, std::size_t bytes, Instant now) {
  Account& account = accounts_[link];
  const std::int64_t most = kLines + kLinesOfHost * static_cast<std::int64_t>(account.remit.hosts);
  if (account.lines.take(kLine + static_cast<std::int64_t>(bytes), most, kLinesPerSecond, now)) return true;
  ++account.left_out;
  tell_at_ = earlier(tell_at_, now + kTold);
  return false;
}

void Allowances::cut(LinkId link, std::string& text, Instant now) {
  const auto size = static_cast<std::int64_t>(text.size());
  if (size <= kText || accounts_[link].texts.take(size, kTexts, kTextsPerSecond, now)) return;
  text.resize(static_cast<std::size_t>(kText));
  text.shrink_to_fit();
}

std::vector<Allowances::LeftOut> Allowances::take_left_out(Instant now, bool all) {
  std::vector<LeftOut> news;
  if (now < tell_at_ && !all) return news;
  tell_at_ = kNever;
  for (auto& [link, account] : accounts_) {
    if (account.left_out > 0) news.push_back({link, std::exchange(account.left_out, 0)});
  }
  return news;
}

}  // namespace charmtree::proto
