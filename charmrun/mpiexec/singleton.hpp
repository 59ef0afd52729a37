// SPDX-License-Identifier: Apache-2.0
// `mpiexec -pmi_args PORT INTERFACE KEY PID`: an MPICH program that no launcher has started wants to start
// others (MPI_Comm_spawn), so its library runs the first mpiexec in PATH and waits on that port of this
// machine for it to connect. Charmrun serves no job that has begun without it: it hands the command to the
// next mpiexec of the Hydra family, or lets the program go on with an error.
#pragma once

#include <span>
#include <string>

namespace charmtree::mpiexec {

/// True for that command, under a name of mpiexec's.
bool is_for_singleton(std::span<const std::string> argv);

/// Executes the next such mpiexec in PATH with the same words, and does not return. If there is none,
/// connects to the program's port and leaves, which ends its wait; returns the line for the user.
std::string hand_on_singleton(std::span<const std::string> argv);

}  // namespace charmtree::mpiexec
