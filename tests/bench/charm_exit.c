// SPDX-License-Identifier: Apache-2.0
//
// The smallest Charm++ program: starts the unmodified runtime (libcharm.so of the charm4py wheel, through
// the interface that charm4py itself uses), and ends the job as soon as all processes are connected. What
// it takes to start is what a launcher takes, and not what an interpreter does. `charm_exit serve` does not
// end: it answers CCS requests to the handlers that every Charm++ program has.
//
//   cc -O2 -o charm_exit charm_exit.c .../charm4py/.libs/libcharm.so -Wl,-rpath,.../charm4py/.libs

#include <string.h>

extern void StartCharmExt(int argc, char** argv);
extern void realCkExit(int code);
extern void CkRegisterMainChareExt(const char* name, int entry_methods, int* chare, int* first_entry);
extern void registerCkRegisterMainModuleCallback(void (*callback)(void));
extern void registerMainchareCtorExtCallback(void (*callback)(int pe, void* object, int entry, int argc,
                                                              char** argv));

static void register_main(void) {
  int chare = 0;
  int first_entry = 0;
  CkRegisterMainChareExt("Main", 1, &chare, &first_entry);
}

static void run_main(int pe, void* object, int entry, int argc, char** argv) {
  (void)pe, (void)object, (void)entry;
  if (argc < 2 || strcmp(argv[1], "serve") != 0) realCkExit(0);
}

int main(int argc, char** argv) {
  registerCkRegisterMainModuleCallback(register_main);
  registerMainchareCtorExtCallback(run_main);
  StartCharmExt(argc, argv);
  return 0;
}
