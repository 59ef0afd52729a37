// SPDX-License-Identifier: Apache-2.0
// Compiled with debug information and without optimisation: tools ask what type the table has.
#include "charmrun/debug/mpir_symbols.hpp"

#pragma GCC visibility push(default)
extern "C" {

MPIR_PROCDESC* MPIR_proctable = nullptr;
int MPIR_proctable_size = 0;
volatile int MPIR_being_debugged = 0;
volatile int MPIR_debug_state = 0;
const char* totalview_jobid = nullptr;
volatile char MPIR_executable_path[256] = {};
volatile char MPIR_server_arguments[1024] = {};

// These say something by being there: this is a starter and no process of the job; whoever takes only some
// processes, or none, need not let the others go, which are held by us; and they are held before main.
extern const int MPIR_i_am_starter, MPIR_partial_attach_ok, MPIR_acquired_pre_main, MPIR_force_to_main;
const int MPIR_i_am_starter = 1;
const int MPIR_partial_attach_ok = 1;
const int MPIR_acquired_pre_main = 1;
const int MPIR_force_to_main = 1;

[[gnu::noinline, gnu::noclone]] void MPIR_Breakpoint() {
  asm volatile("" ::: "memory");
}

}  // extern "C"
#pragma GCC visibility pop
