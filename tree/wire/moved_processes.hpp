// SPDX-License-Identifier: Apache-2.0
// Which processes are no longer on the host where they were first, and on which they have been since (DESIGN
// D24).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace charmtree::wire {

class MovedProcesses {
public:
  /// From now on the process is on `host`.
  void move(std::uint32_t process, std::uint32_t host) { hosts_[process].push_back(host); }
  /// Where it is; nothing: where it was first.
  std::optional<std::uint32_t> host_of(std::uint32_t process) const;
  /// The first of those behind `process` that have been moved.
  std::optional<std::uint32_t> next_behind(std::uint32_t process) const;
  void clear() { hosts_.clear(); }

  /// Each with all hosts that it has been moved to, the last one at the end.
  auto begin() const { return hosts_.begin(); }
  auto end() const { return hosts_.end(); }
  auto find(std::uint32_t process) const { return hosts_.find(process); }

  friend bool operator==(const MovedProcesses&, const MovedProcesses&) = default;

private:
  std::map<std::uint32_t, std::vector<std::uint32_t>> hosts_;
};

}  // namespace charmtree::wire
