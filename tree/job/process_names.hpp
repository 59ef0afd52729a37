// SPDX-License-Identifier: Apache-2.0
// The names by which the shell knows the processes of its host: their numbers at first, which they keep when
// a job is resized and they get other numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace charmtree::proto {

class ProcessNames {
public:
  /// Processes `first` to `first + count - 1` have their numbers as names.
  ProcessNames(std::uint32_t first, std::uint32_t count) : first_(first), next_(first + count) {}

  /// They have been numbered anew, from `first` on: these names, and new ones up to `count`.
  void renumber(std::uint32_t first, std::vector<std::uint32_t> staying, std::uint32_t count);
  std::uint32_t name_of(std::uint32_t process) const {
    return names_.empty() ? process : names_[process - first_];
  }
  /// Nothing: no process has the name (any more). A name that never changed is a number, and of whatever
  /// host.
  std::optional<std::uint32_t> process_of(std::uint32_t name) const;
  /// By place; empty: all have their numbers.
  const std::vector<std::uint32_t>& names() const { return names_; }

private:
  std::uint32_t first_, next_;
  std::vector<std::uint32_t> names_;
};

}  // namespace charmtree::proto
