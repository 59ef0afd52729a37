// SPDX-License-Identifier: Apache-2.0
// Which MPI library the processes of a program have loaded, as /proc/PID/maps shows it.
#pragma once

#include <sys/types.h>

#include <string>

namespace charmtree::io {

/// Returns the file name of the MPI library that `root` or a process below it has loaded; empty: none shows.
/// Looks at some processes alone where there are many.
std::string loaded_mpi(pid_t root);

}  // namespace charmtree::io
