// SPDX-License-Identifier: Apache-2.0
#include "tree/overlay/logins_in_flight.hpp"

namespace charmtree::proto {

namespace {

// Logins in flight to begin with: latency / occupancy or more.
constexpr std::uint32_t kFirstWindow = 128;
constexpr int kPresumedDead = 4;  // a login of so many times the latency counts for nothing

LoginWindow::Config window_of(const wire::LaunchRules& rules) {
  return {kFirstWindow, rules.batch, rules.max_logins};
}

}  // namespace

LoginsInFlight::LoginsInFlight(const wire::JobSpec& job)
    : job_(job), window_(window_of(job.launch)), patience_(job.launch.patience) {}

/// With hosts that are just slow. So is a session, before anybody waits for a run.
bool LoginsInFlight::is_patient() const {
  const bool is_first = job_.session && job_.processes == 0 && job_.launch.patience == Duration{0};
  return is_first || job_.launch.on_host_failure == wire::OnHostFailure::abort;
}

void LoginsInFlight::begin(LinkId link, Silence silence, Instant now) {
  begun_.emplace(link, now);
  if (silence == Silence::judged && !is_patient()) judged_.push_back(link);
}

Instant LoginsInFlight::end(LinkId link) {
  const Instant begun = begun_.extract(link).mapped();
  skip_ended();
  return begun;
}

void LoginsInFlight::succeeded(LinkId link, Instant now) {
  const Duration latency = now - end(link);
  window_.succeeded(latency);
  patience_.succeeded(latency);
}

void LoginsInFlight::failed(LinkId link, Errc code, Instant now) {
  window_.failed(code, end(link), now);
}

void LoginsInFlight::cancelled(LinkId link) {
  end(link);
}

void LoginsInFlight::skip_ended() {
  while (!judged_.empty() && !begun_.contains(judged_.front())) judged_.pop_front();
}

Instant LoginsInFlight::patience_ends() const {
  if (judged_.empty()) return kNever;
  const Duration own = job_.launch.patience;  // of this run
  return begun_.at(judged_.front()) + (own > Duration{0} ? own : patience_.get());
}

std::optional<LinkId> LoginsInFlight::take_silent(Instant now) {
  if (judged_.empty() || patience_ends() > now) return {};
  const LinkId link = judged_.front();
  judged_.pop_front();
  skip_ended();
  return link;
}

std::vector<Duration> LoginsInFlight::still_take(Duration latency, Instant now) const {
  std::vector<Duration> later;
  for (const auto& [link, begun] : begun_) {
    const Duration age = now - begun;
    if (age < kPresumedDead * latency) later.push_back(latency - age);
  }
  return later;
}

}  // namespace charmtree::proto
