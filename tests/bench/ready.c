// SPDX-License-Identifier: Apache-2.0
//
// The smallest program of the client library: when every process has the table, its first one says so, and
// all wait until they are killed.

#include <unistd.h>

#include "charmtree.h"

int main(void) {
  ct_job* job;
  if (ct_init(&job) < 0 || ct_table(job) < 0 || ct_barrier(job) < 0) return 1;
  if (ct_rank(job) == 0) ct_print(job, CT_STDOUT, "ready\n");
  for (;;) pause();
}
