/* SPDX-License-Identifier: Apache-2.0 */
/* steps N [without]: prints N lines that are the same in all processes, each behind a barrier, or without. */
#include <stdio.h>
#include <stdlib.h>

#include "charmtree.h"

int main(int argc, char** argv) {
  ct_job* job;
  if (ct_init(&job) < 0) return 1;
  for (int i = 0; i < (argc > 1 ? atoi(argv[1]) : 1000); ++i) {
    if (argc <= 2 && ct_barrier(job) < 0) return 1;
    printf("step %d done\n", i);
    fflush(stdout);
  }
  return ct_finalize(job, 0) < 0;
}
