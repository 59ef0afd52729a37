/* SPDX-License-Identifier: Apache-2.0 */
/* hello: the smallest program of the client library. `./hello` alone, or `charmrun +p4 ./hello`. */
#include <stdio.h>

#include "charmtree.h"

int main(void) {
  ct_job* job;
  int error = ct_init(&job);
  if (error < 0) {
    fprintf(stderr, "hello: %s\n", ct_strerror(error));
    return 1;
  }
  char line[64];
  snprintf(line, sizeof line, "hello from %d of %d\n", ct_rank(job), ct_size(job));
  ct_print(job, CT_STDOUT, line);
  return ct_finalize(job, 0) < 0;
}
