/* SPDX-License-Identifier: Apache-2.0 */
/* steps_double FILE: processes of the client library that take steps together, each a numbered line and a
 * barrier, and go on with those that are left when some are lost. FILE says how many steps; while it is
 * empty, none is the last. */
#include <poll.h>
#include <stdio.h>

#include "client-lib/charmtree.h"

/* 0: it does not say yet. */
static int last_step(const char* path) {
  int last = 0;
  char newline; /* it may be half written */
  FILE* file = fopen(path, "r");
  if (file == NULL) return 0;
  if (fscanf(file, "%d%c", &last, &newline) != 2) last = 0;
  fclose(file);
  return last;
}

int main(int argc, char** argv) {
  ct_job* job;
  int error = argc == 2 ? ct_init(&job) : -1;
  if (error < 0) {
    fprintf(stderr, "steps_double: %s\n", argc == 2 ? ct_strerror(error) : "which file?");
    return 1;
  }
  for (int step = 0, last = 0; (last == 0 || step < last) && error >= 0; ++step) {
    char line[80];
    poll(NULL, 0, 10);
    snprintf(line, sizeof line, "process %d step %d\n", ct_rank(job), step);
    error = ct_print(job, CT_STDOUT, line);
    if (error >= 0) error = ct_barrier(job);
    last = last_step(argv[1]);
  }
  if (error < 0) fprintf(stderr, "steps_double: %s\n", ct_strerror(error));
  ct_finalize(job, error < 0);
  return error < 0;
}
