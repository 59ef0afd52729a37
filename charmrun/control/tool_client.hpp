// SPDX-License-Identifier: Apache-2.0
// `charmrun ++exec` and `++dap`: a command beside the processes of a running job, on each of their hosts,
// with this process's stdin, stdout and stderr.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "charmrun/cli/options.hpp"
#include "tree/base/result.hpp"

namespace charmtree::control {

/// ++exec: `words` on the hosts of these processes ("0-3,7"; empty: all). The highest status that it has
/// ended with. What several hosts say is shown as `options` have it, else in lines with the host in front.
Result<int> run_exec(const std::string& job, const std::string& processes,
                     const std::vector<std::string>& words, const Options& options);

/// ++dap: an adapter on the host of this process, for an editor at the other end of our stdin and stdout.
Result<int> run_dap(const std::string& job, const std::string& process, const Options& options);

}  // namespace charmtree::control
