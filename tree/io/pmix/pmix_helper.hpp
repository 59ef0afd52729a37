// SPDX-License-Identifier: Apache-2.0
// The PMIx helper of a host, `charmrun ++pmix-helper`: a process that its launcher starts, and that serves
// the launcher's processes by the library of OpenPMIx. What it and the launcher say to each other:
// tree/clients/pmix/pmix_message.hpp.
//
// The library calls back on a thread of its own. There is nothing that it may wait for there: what it says
// is written to the launcher, under a lock, and answers come back on the main thread, which reads what the
// launcher says and does nothing else.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace charmtree::io {

/// If `words` are those of a helper (kPmixHelperWord): is one until stdin, its connection to the launcher,
/// ends, removes its folder, and does not return.
std::optional<int> run_pmix_helper(const std::vector<std::string>& words);

}  // namespace charmtree::io
