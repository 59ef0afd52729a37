// SPDX-License-Identifier: Apache-2.0
// Who asks for hosts with late binding: launchers below that have run dry, and this one its parent. Which
// hosts they get, the pool says.
#pragma once

#include <cstdint>
#include <list>
#include <optional>

#include "tree/turn/events.hpp"

namespace charmtree::proto {

/// What launchers below have asked for: first come, first served.
class HostRequests {
public:
  struct Request {
    LinkId link;
    std::uint32_t hosts;
  };
  /// A launcher asks once, and again when it has got some; one that asks before that keeps its place.
  void add(LinkId link, std::uint32_t hosts);
  /// Whose turn it is.
  std::optional<Request> first() const;
  /// That one has got what it gets.
  void served() { requests_.pop_front(); }
  void clear() { requests_.clear(); }

private:
  std::list<Request> requests_;
};

/// What this launcher asks of its parent: twice as much each time, and one question at a time. A launcher
/// that never had a host asks for none: there are none left for it.
class OwnRequests {
public:
  static constexpr std::uint32_t kMost = 1024;  // hosts at a time

  /// Hosts have come from the parent, or the word that there are none.
  void answered(bool has_hosts);
  /// No answer is due any more.
  void begin_run() { is_asked_ = false; }
  bool may_ask() const { return had_hosts_ && !is_asked_; }
  /// For how many hosts; the answer is due from now on. Precondition: may_ask().
  std::uint32_t ask();

private:
  std::uint32_t next_ = 1;
  bool had_hosts_ = false;
  bool is_asked_ = false;  // the parent has not answered yet
};

}  // namespace charmtree::proto
