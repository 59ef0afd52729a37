// SPDX-License-Identifier: Apache-2.0
// Events of a simulation of which a million are waiting at any time: time goes in steps, a ring of buckets
// holds what happens in the next ones, and what is further away waits in a map. Events of one step come in
// the order in which they were put. Source: Brown: Calendar queues (1988), with one step to a bucket.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace charmtree::silence {

using Step = std::uint32_t;

class Calendar {
public:
  using Event = std::uint32_t;

  Step now() const { return now_; }

  /// An event of the past happens now.
  void put(Step at, Event event) {
    if (at < now_) at = now_;
    if (at - now_ >= kSteps) {
      far_[at].push_back(event);
      return;
    }
    std::vector<Event>& bucket = ring_[at % kSteps];
    if (bucket.capacity() == 0 && !spare_.empty()) {
      bucket = std::move(spare_.back());
      spare_.pop_back();
    }
    bucket.push_back(event);
  }

  /// Hands every event before `end` to `handle`, which may put others, and shows it to `prefetch` some events
  /// before.
  template <class Prefetch, class Handle>
  void run(Step end, Prefetch&& prefetch, Handle&& handle) {
    for (; now_ < end; ++now_) {
      take_far();
      std::vector<Event>& bucket = ring_[now_ % kSteps];
      for (std::size_t i = 0; i < bucket.size(); ++i) {  // it may grow meanwhile
        if (i + kAhead < bucket.size()) prefetch(bucket[i + kAhead]);
        handle(bucket[i]);
      }
      handled_ += bucket.size();
      if (bucket.capacity() == 0) continue;
      bucket.clear();
      spare_.push_back(std::exchange(bucket, {}));
    }
  }

  std::uint64_t handled() const { return handled_; }

private:
  void take_far() {
    if (far_.empty() || far_.begin()->first > now_) return;
    for (const Event event : far_.begin()->second) put(now_, event);
    far_.erase(far_.begin());
  }

  static constexpr Step kSteps = 1 << 13;
  static constexpr std::size_t kAhead = 8;
  std::vector<std::vector<Event>> ring_{kSteps};
  std::vector<std::vector<Event>> spare_;  // memory of buckets that are done with, still in the cache
  std::map<Step, std::vector<Event>> far_;
  Step now_ = 0;
  std::uint64_t handled_ = 0;
};

}  // namespace charmtree::silence
