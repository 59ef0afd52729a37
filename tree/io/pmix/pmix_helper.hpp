// SPDX-License-Identifier: Apache-2.0
// The PMIx helper of a host, `charmrun ++pmix-helper`: a process that its launcher starts, and that serves
// the launcher's processes by the library of OpenPMIx. What it and the launcher say to each other:
// tree/clients/pmix/pmix_message.hpp.
//
// The library calls back on a thread of its own. There is nothing that it may wait for there: what it says
// is written to the launcher, under a lock, and answers come back on the main thread, which reads what the
// launcher says and does nothing else.
#pragma once

#include <string>

namespace charmtree::io {

/// Until stdin, its connection to the launcher, ends. `program` as in PmixLibrary::load; `folder` is private
/// and empty, and is removed. The exit status.
int run_pmix_helper(const std::string& program, const std::string& folder);

}  // namespace charmtree::io
