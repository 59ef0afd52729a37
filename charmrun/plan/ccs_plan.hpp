// SPDX-License-Identifier: Apache-2.0
// What CCS clients of the job may do, by the options: keys, handlers that are denied, a time limit.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ccs/router.hpp"
#include "charmrun/cli/options.hpp"
#include "tree/base/result.hpp"

namespace charmtree {

/// The keys in a file, see ccs::read_keys. Error: why it cannot be read, or what is wrong with it.
Result<ccs::KeyFile> read_key_file(const std::string& name, bool weak,
                                   const std::function<std::string()>& make_text);

struct CcsPlan {
  ccs::Plan plan;
  std::string keys_made;             // lines for stdout, before all others
  std::vector<std::string> remarks;  // one line each
};
/// `address`: IPv4 of this host that processes are told for a client on loopback. Reads the key file. Error
/// bad_input: what is wrong with it.
Result<CcsPlan> ccs_plan(const Options& options, std::uint32_t address);

}  // namespace charmtree
