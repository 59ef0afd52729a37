// SPDX-License-Identifier: Apache-2.0
// How often something is started again, and when: a process that is lost again and again soon after its start
// is given pauses and then up, and the user may have set a limit for all together. A program that is started
// again as a whole is one process here, number 0.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tree/base/time.hpp"

namespace charmtree::proto {

class RestartBudget {
public:
  /// A process that is lost so many times in a row, never having run for kSettled in between, is hopeless.
  static constexpr std::uint32_t kMostInARow = 5;
  static constexpr Duration kSettled = 10s;

  /// `most`: restarts of all processes together. `first_pause`: before the second restart of a process in a
  /// row; doubles with each.
  explicit RestartBudget(std::uint32_t most = UINT32_MAX, Duration first_pause = Duration{0})
      : most_(most), first_pause_(first_pause) {}

  /// Whether a loss counts for `most`: of those that one host takes with it, one does.
  enum class Counts : std::uint8_t { itself, with_another };
  /// The process is lost. Why it is not to be started again; empty: it is, and that is counted.
  std::string lost(std::uint32_t process, Instant now, Counts counts = Counts::itself);
  /// It runs again.
  void runs(std::uint32_t process, Instant now) { records_[process].began = now; }

  /// Of one process, so far.
  std::uint32_t restarts(std::uint32_t process) const;
  /// Between its loss and its restart.
  Duration pause(std::uint32_t process) const;
  std::uint32_t most() const { return most_; }

private:
  struct Record {
    std::uint32_t losses = 0;  // in a row
    std::uint32_t restarts = 0;
    Instant began = kNever;
  };
  std::uint32_t most_;
  Duration first_pause_;
  std::uint32_t restarts_ = 0;
  std::map<std::uint32_t, Record> records_;
};

}  // namespace charmtree::proto
