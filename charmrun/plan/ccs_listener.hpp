// SPDX-License-Identifier: Apache-2.0
// Where clients of the running job (CCS) reach the root: what ++server, ++server-port and ++server-host say,
// the listening, and the lines by which tools find the port.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "charmrun/cli/options.hpp"
#include "tree/base/result.hpp"

namespace charmtree {

namespace io {
class Runner;
}

struct CcsListener {
  std::uint32_t announced = 0;           // IPv4, host byte order
  std::vector<std::uint32_t> listening;  // there
  std::string keys_made = {};            // lines that come before those of the port
};
/// Without ++server-host: the address of this machine that others know, and loopback. Error bad_input.
Result<CcsListener> ccs_listener(const Options& options);

/// Opens the port and returns the lines that say so, as Charm++'s charmrun does. They are the job's first:
/// tools count lines. Error: why it cannot be opened.
Result<std::string> open_ccs(const Options& options, const CcsListener& listener, io::Runner& runner);

}  // namespace charmtree
