// SPDX-License-Identifier: Apache-2.0
// Of a job that runs several programs (`./a : ./b`): which of its processes run which.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace charmtree::wire {

/// One behind the job's first: its processes are those from `first` on, up to the next one's. Where its file
/// is on a host, that host's profile says.
struct FurtherProgram {
  std::uint32_t first = 0;
  std::vector<std::string> arguments;    // [0] as the user wrote it
  std::vector<std::string> environment;  // "NAME=value": wins over the profile's
  friend bool operator==(const FurtherProgram&, const FurtherProgram&) = default;
};

/// The first process of each of the job's programs; that of the job's first is 0.
std::vector<std::uint32_t> first_processes(const std::vector<FurtherProgram>& further);

/// Which program the process runs, by these: 0: the job's first, k: further[k - 1].
std::uint32_t program_of(const std::vector<std::uint32_t>& firsts, std::uint32_t process);
std::uint32_t program_of(const std::vector<FurtherProgram>& further, std::uint32_t process);

/// Each has a process of so many, and they are in order.
bool is_division(const std::vector<FurtherProgram>& further, std::uint32_t processes);

}  // namespace charmtree::wire
