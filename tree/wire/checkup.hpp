// SPDX-License-Identifier: Apache-2.0
// What the launcher of a host tells in a job that only examines its hosts (charmrun ++doctor).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tree/base/error.hpp"
#include "tree/base/time.hpp"
#include "tree/wire/address.hpp"
#include "tree/wire/message.hpp"

namespace charmtree::wire {

/// What a launcher of a checkup has found on its host. Plain facts; what they mean is for the root to say.
struct Checkup {
  CT_MESSAGE(to_root, 62);
  static constexpr std::size_t kMaxErrors = 8;
  static constexpr std::uint64_t kUnlimited = UINT64_MAX;

  std::uint32_t host = 0;
  Instant clock;                 // when wall_ms was read; mapped like Stamps
  std::int64_t wall_ms = 0;      // wall clock: milliseconds since 1970
  Address address;               // under which other hosts would be told to reach it
  std::string machine;           // the kernel's boot id: two names of one machine have the same
  std::uint64_t open_files = 0;  // limit that a process gets, and how far it may be raised there
  std::uint64_t most_open_files = 0;
  std::uint64_t processes = 0;  // limit of the user's processes and threads there, and how many run
  std::uint64_t processes_now = 0;
  std::vector<Error> errors;  // the program and its libraries
};

}  // namespace charmtree::wire
