// SPDX-License-Identifier: Apache-2.0
// `mpiexec -pmi_args PORT INTERFACE KEY PID`: an MPI program that no launcher has started wants to start
// others (MPI_Comm_spawn). Its library (MPICH's, Intel's) runs the first mpiexec in PATH and waits on PORT of
// this machine for it to connect. charmrun then runs a job on this machine whose one process is charmrun
// again, as the relay: it connects to the program and carries its PMI to the launcher. So the program is
// process 0 of a job like any other, and the processes that it starts belong to this job.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace charmtree::mpiexec {

struct Singleton {
  std::uint16_t port = 0;
  pid_t process = 0;  // PID: the program, or this process, as MPICH asks for it behind its fork
  bool verbose = false;
};

/// Returns what that command says; nothing if `argv` is another one, or charmrun's name is none of mpiexec's.
std::optional<Singleton> singleton_of(std::span<const std::string> argv);

/// Returns the command line of its job, with charmrun's name; `self`: the file of charmrun.
std::vector<std::string> job_of(const Singleton& program, const std::string& self);

/// Ends the program by SIGTERM, as its job has failed: the program waits for answers that nothing will send.
/// Does so only where PID shows that the program is the parent of this process.
void end_program(const Singleton& program);

/// Runs the relay if `argv` is its command line. Returns when the program or the launcher closes the
/// connection, with an empty text, or with the reason why the program cannot be served.
std::optional<std::string> run_singleton_relay(std::span<const std::string> argv);

}  // namespace charmtree::mpiexec
