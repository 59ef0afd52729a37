/* SPDX-License-Identifier: Apache-2.0 */
/* steps_double FILE: processes of the client library that take steps together, each a numbered line and a
 * barrier, and go on with those that are left when some are lost. FILE says how many steps; while it is
 * empty, none is the last. The CCS handler `step` says which one a process is at. */
#include <stdio.h>
#include <string.h>

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

static void tell_step(ct_job* job, const struct ct_ccs_request* request, void* argument) {
  char text[16];
  snprintf(text, sizeof text, "%d", *(const int*)argument);
  ct_ccs_reply(job, request->id, text, strlen(text));
}

/* Its work: to wait 10 ms at most for a request. */
static int work(ct_job* job) {
  ct_set_timeout(job, 10);
  const int error = ct_ccs_serve(job);
  ct_set_timeout(job, CT_FOREVER);
  return error == CT_ETIMEDOUT ? 0 : error;
}

int main(int argc, char** argv) {
  ct_job* job;
  int error = argc == 2 ? ct_init(&job) : -1;
  if (error < 0) {
    fprintf(stderr, "steps_double: %s\n", argc == 2 ? ct_strerror(error) : "which file?");
    return 1;
  }
  int step = 0;
  error = ct_ccs_register(job, "step", CT_CCS_CONCAT, tell_step, &step);
  for (int last = 0; (last == 0 || step < last) && error >= 0; ++step) {
    char line[80];
    error = work(job);
    snprintf(line, sizeof line, "process %d step %d\n", ct_rank(job), step);
    if (error >= 0) error = ct_print(job, CT_STDOUT, line);
    if (error >= 0) error = ct_barrier(job);
    last = last_step(argv[1]);
  }
  if (error < 0) fprintf(stderr, "steps_double: %s\n", ct_strerror(error));
  ct_finalize(job, error < 0);
  return error < 0;
}
