/* SPDX-License-Identifier: Apache-2.0 */
/* steer: a computation that runs until a client ends it, and can be watched and changed meanwhile.
 *
 *     charmrun +p4 ++server ++server-port 1234 ./steer &
 *     charmrun ++ccs localhost:1234 steps all         steps of all processes together (8 bytes)
 *     charmrun ++ccs localhost:1234 where all         a line of each, by rank
 *     charmrun ++ccs localhost:1234 pace 2 500        process 2 makes a step each 500 ms
 *     charmrun ++ccs localhost:1234 stop all */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "charmtree.h"

struct work {
  int64_t steps;
  int pace; /* milliseconds */
  int over;
};

static void steps(ct_job* job, const struct ct_ccs_request* request, void* argument) {
  const struct work* work = argument;
  ct_ccs_reply(job, request->id, &work->steps, sizeof work->steps);
}

static void where(ct_job* job, const struct ct_ccs_request* request, void* argument) {
  const struct work* work = argument;
  char line[64];
  const int length =
      snprintf(line, sizeof line, "process %d: step %lld\n", ct_rank(job), (long long)work->steps);
  ct_ccs_reply(job, request->id, line, (size_t)length);
}

static void pace(ct_job* job, const struct ct_ccs_request* request, void* argument) {
  struct work* work = argument;
  char text[16];
  snprintf(text, sizeof text, "%.*s", (int)request->size, (const char*)request->data);
  const int wanted = atoi(text);
  if (wanted > 0) work->pace = wanted;
  ct_ccs_reply(job, request->id, NULL, 0);
}

static void stop(ct_job* job, const struct ct_ccs_request* request, void* argument) {
  ((struct work*)argument)->over = 1;
  ct_ccs_reply(job, request->id, NULL, 0);
}

int main(void) {
  ct_job* job;
  int error = ct_init(&job);
  if (error < 0) {
    fprintf(stderr, "steer: %s\n", ct_strerror(error));
    return 1;
  }
  struct work work = {0, 10, 0};
  ct_ccs_register(job, "steps", CT_CCS_SUM | CT_CCS_INT64, steps, &work);
  ct_ccs_register(job, "where", CT_CCS_CONCAT, where, &work);
  ct_ccs_register(job, "pace", CT_CCS_CONCAT, pace, &work);
  ct_ccs_register(job, "stop", CT_CCS_CONCAT, stop, &work);
  ct_register(job, NULL, 0);
  while (!work.over) {
    ++work.steps; /* what it computes */
    ct_set_timeout(job, work.pace);
    error = ct_ccs_serve(job);
    if (error < 0 && error != CT_ETIMEDOUT) break;
  }
  ct_set_timeout(job, CT_FOREVER);
  return ct_finalize(job, 0) < 0;
}
