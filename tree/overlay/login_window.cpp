// SPDX-License-Identifier: Apache-2.0
#include "tree/overlay/login_window.hpp"

#include <algorithm>
#include <bit>

namespace charmtree::proto {

namespace {
constexpr double kSmoothing = 0.125;
constexpr double kKept = 1.5;  // a latency that has grown by more has not been kept
constexpr std::uint32_t kAnswers = 16;
constexpr Duration kLeastPatience = 2s;
}  // namespace

LoginWindow::LoginWindow(const Config& config)
    : adapts_(config.fixed == 0),
      size_(config.fixed != 0 ? config.fixed : config.first),
      most_(config.most != 0 ? std::min<double>(config.most, kMost) : kMost),
      threshold_(most_) {
  if (adapts_) size_ = std::min(size_, most_);
}

void LoginWindow::succeeded(Duration latency) {
  answers_ <<= 1;
  if (!adapts_) return;
  if (latency_ == Duration{0}) latency_ = least_latency_ = latency;
  latency_ +=
      Duration{static_cast<Duration::rep>(kSmoothing * static_cast<double>((latency - latency_).count()))};
  least_latency_ = std::min(least_latency_, latency_);
  if (static_cast<double>(latency_.count()) > kKept * static_cast<double>(least_latency_.count())) return;
  size_ = std::min(most_, size_ + (size_ < threshold_ ? 1 : 1 / size_));
}

bool LoginWindow::turned_away(Errc code) {
  const bool refused = code == Errc::refused;
  answers_ = (answers_ << 1) | (refused ? 1 : 0);
  if (refused) return std::popcount(answers_ & ((1U << kAnswers) - 1)) > static_cast<int>(kAnswers / 2);
  return code == Errc::busy || code == Errc::penalised || code == Errc::dropped;
}

void LoginWindow::failed(Errc code, Instant begun, Instant now) {
  if (!turned_away(code) || !adapts_ || (halved_ && begun < halved_at_)) return;
  halved_ = true;
  halved_at_ = now;
  size_ = std::max(std::min(most_, static_cast<double>(kLeast)), size_ / 2);
  threshold_ = size_;
}

void Patience::succeeded(Duration latency) {
  if (latencies_.size() >= kMostSamples) return;
  latencies_.insert(std::upper_bound(latencies_.begin(), latencies_.end(), latency), latency);
}

Duration Patience::get() const {
  if (fixed_ != Duration{0}) return fixed_;
  return std::max(kLeastPatience, 4 * usual());
}

Duration Patience::usual() const {
  return latencies_.empty() ? Duration{0} : latencies_[(latencies_.size() * 9 - 1) / 10];
}

}  // namespace charmtree::proto
