// SPDX-License-Identifier: Apache-2.0
// How often single processes of a job are started again: a process that is lost again and again soon after
// its start is hopeless, and the user may have set a limit for all together.
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

  /// `most`: restarts of all processes together.
  explicit RestartBudget(std::uint32_t most = UINT32_MAX) : most_(most) {}

  /// Whether a loss counts for `most`: of those that one host takes with it, one does.
  enum class Counts : std::uint8_t { itself, with_another };
  /// The process is lost. Why it is not to be started again; empty: it is, and that is counted.
  std::string lost(std::uint32_t process, Instant now, Counts counts = Counts::itself);
  /// It runs again.
  void runs(std::uint32_t process, Instant now) { records_[process].began = now; }

  /// Of one process, so far.
  std::uint32_t restarts(std::uint32_t process) const;
  /// Losses of the process in a row, the last one included.
  std::uint32_t in_a_row(std::uint32_t process) const;

private:
  struct Record {
    std::uint32_t losses = 0;  // in a row
    std::uint32_t restarts = 0;
    Instant began = kNever;
  };
  std::uint32_t most_;
  std::uint32_t restarts_ = 0;
  std::map<std::uint32_t, Record> records_;
};

}  // namespace charmtree::proto
