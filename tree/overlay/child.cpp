// SPDX-License-Identifier: Apache-2.0
#include "tree/overlay/child.hpp"

namespace charmtree::proto {

/// False if it changes nothing.
bool Child::on(Event event) {
  const auto to = next(state_, event);
  if (to) state_ = *to;
  return to.has_value();
}

void Child::login_begun(std::uint32_t parent, std::uint32_t level, Instant now) {
  if (!on(Event::login_begun)) return;
  if (first_tried == kNever) first_tried = now;
  ++attempts;
  stamps = {};
  stamps.host = host.index;
  stamps.parent = parent;
  stamps.level = level;
  stamps.attempts = attempts;
  stamps.times[wire::Stamps::begun] = now;
}

Child Child::by(Via other) const {
  Child again;
  again.host = host;
  again.purpose = purpose;
  again.via = other;
  again.attempts = attempts;
  again.first_tried = first_tried;
  again.insistence = insistence;
  again.replaces = replaces;
  return again;
}

void Child::welcome(const LoginTimes& login, Instant now) {
  welcomed = now;
  using S = wire::Stamps;
  auto& times = stamps.times;
  if (login.begun != kNever) times[S::begun] = login.begun;
  times[S::resolved] = login.resolved;
  times[S::connected] = login.connected;
  times[S::handshaken] = login.handshaken;
  times[S::authenticated] = login.authenticated;
  times[S::executed] = login.executed;
  times[S::hello] = now;
}

void Child::hello(Instant clock, Instant now) {
  if (clock_offset_) return;
  const Instant middle = welcomed + (now - welcomed) / 2;
  clock_offset_ = clock - middle;
}

Instant Child::in_our_clock(Instant time) const {
  if (time == kNever) return kNever;
  time -= clock_offset_.value_or(Duration{0});
  return std::chrono::abs(time.time_since_epoch()) > wire::kFarthest.time_since_epoch() ? kNever : time;
}

void Child::forget_processes() {
  registered = finished = 0;
  queue_pairs = 0;
}

void Child::begin_run() {
  forget_processes();
  crash_acks = 0;
  idle = false;
}

}  // namespace charmtree::proto
