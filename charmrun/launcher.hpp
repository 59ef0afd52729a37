// SPDX-License-Identifier: Apache-2.0
// `charmrun ++launcher`: every launcher but the root, as a process.
#pragma once

namespace charmtree {

/// Started by a launcher above: stdin and stdout are the link to it. The status to exit with.
int run_launcher();

/// One of mpiexec's processes: its host's launcher, or one that waits for that.
int run_rank();

}  // namespace charmtree
