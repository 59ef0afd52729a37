/* SPDX-License-Identifier: Apache-2.0 */
/* endure [steps [milliseconds]]: processes that take steps together, and go on with those that are left when
 * some are lost:
 *
 *     charmrun +p8 ++nodelist nodes ++on-failure continue ./endure 100 50
 *
 * Each takes its share of the work of a step, prints a line, and waits for the others in a barrier. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "charmtree.h"

static void hear_loss(ct_job* job, const int* ranks, int count, void* argument) {
  int* left = argument;
  *left -= count;
  for (int i = 0; i < count; ++i) {
    char line[80];
    snprintf(line, sizeof line, "process %d goes on without %d\n", ct_rank(job), ranks[i]);
    ct_print(job, CT_STDERR, line);
  }
}

int main(int argc, char** argv) {
  const int steps = argc > 1 ? atoi(argv[1]) : 10;
  const int pause = argc > 2 ? atoi(argv[2]) : 10;
  ct_job* job;
  int error = ct_init(&job);
  if (error < 0) {
    fprintf(stderr, "endure: %s\n", ct_strerror(error));
    return 1;
  }
  int left = ct_size(job);
  ct_on_loss(job, hear_loss, &left);
  for (int step = 0; step < steps && error >= 0; ++step) {
    char line[80];
    poll(NULL, 0, pause); /* its work */
    snprintf(line, sizeof line, "process %d step %d of %d, %d of %d left\n", ct_rank(job), step, steps, left,
             ct_size(job));
    error = ct_print(job, CT_STDOUT, line);
    if (error >= 0) error = ct_barrier(job);
  }
  if (error < 0) fprintf(stderr, "endure: %s\n", ct_strerror(error));
  const int status = error < 0;
  ct_finalize(job, status);
  return status;
}
