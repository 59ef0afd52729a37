// SPDX-License-Identifier: Apache-2.0
// How mpiexec and mpirun are told their hosts: a file with a host on each line, or a list in one word.
//
//   HOST  HOST:SLOTS  USER@HOST  HOST slots=N  HOST N     # a comment, // another
//
// HOST may be a pattern (plan/host_pattern.hpp). A host without a number has one slot; the slots of one that
// is named again add up. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "charmrun/plan/nodelist.hpp"
#include "tree/base/result.hpp"

namespace charmtree::mpiexec {

struct SlotHost {
  std::string name, login;
  std::uint32_t slots = 1;
  friend bool operator==(const SlotHost&, const SlotHost&) = default;
};

/// Each host once; of at most so many mentions, patterns expanded. Errors are bad_input, Phase::nodelist:
/// "FILE:LINE: what is wrong".
Result<std::vector<SlotHost>> read_host_file(std::string_view text, std::string_view file,
                                             std::uint64_t max_hosts = kMaxNodelistHosts);

/// `a,b:2,n[1-4]`. Errors are bad_input, Phase::options.
Result<std::vector<SlotHost>> read_host_list(std::string_view list);

/// A nodelist (plan/nodelist.hpp) by which each of these hosts gets its share of so many processes: slot by
/// slot, and from the first host on again when all slots are taken. `per_host`: the slots of every host; 0:
/// as they say.
std::string nodelist_text(std::vector<SlotHost> hosts, std::uint32_t processes, std::uint32_t per_host);

}  // namespace charmtree::mpiexec
