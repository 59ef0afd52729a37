// SPDX-License-Identifier: Apache-2.0
//
// The smallest program of the client library: each process says when it had got the table (CLOCK_REALTIME, in
// seconds), once all have it, and waits until it is killed.

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "charmtree.h"

int main(void) {
  ct_job* job;
  if (ct_init(&job) < 0 || ct_table(job) < 0) return 1;
  struct timespec at;
  clock_gettime(CLOCK_REALTIME, &at);
  char line[64];
  snprintf(line, sizeof line, "%lld.%09ld\n", (long long)at.tv_sec, at.tv_nsec);
  if (ct_barrier(job) < 0) return 1;
  ct_print(job, CT_STDOUT, line);
  for (;;) pause();
}
