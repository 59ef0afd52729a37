// SPDX-License-Identifier: Apache-2.0
// The names that debuggers and tools look for in a launcher ("The MPIR Process Acquisition Interface", MPI
// Forum, 2010), which read and write this memory from outside. They must be in the program's own table of
// symbols at the addresses at which they are loaded (charmrun/CMakeLists.txt).
#pragma once

#pragma GCC visibility push(default)
extern "C" {

// NOLINTBEGIN(readability-identifier-naming): the names are the interface.
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): so is that.
typedef struct {
  const char* host_name;
  const char* executable_name;
  int pid;
} MPIR_PROCDESC;

extern MPIR_PROCDESC* MPIR_proctable;  // by the processes' numbers
extern int MPIR_proctable_size;
extern volatile int MPIR_being_debugged;  // a tool says that it is there
enum { MPIR_DEBUG_SPAWNED = 1 };
extern volatile int MPIR_debug_state;
extern const char* totalview_jobid;
/// What a tool wants to have on each host of the job: a program, and its arguments, each with a NUL behind
/// it, and one more behind the last.
extern volatile char MPIR_executable_path[256], MPIR_server_arguments[1024];
/// Where tools have us stop, to look at what is above.
void MPIR_Breakpoint();
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)
// NOLINTEND(readability-identifier-naming)

}  // extern "C"
#pragma GCC visibility pop
