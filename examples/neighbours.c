/* SPDX-License-Identifier: Apache-2.0 */
/* neighbours: each process tells the next and the one before where it is, by a ring: no table of all
 * processes is made for that. charmrun +p4 ./neighbours */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "charmtree.h"

/* "what" went wrong: the others wait for us, so that is the end of the job. */
static int fail(ct_job* job, const char* what, int error) {
  char text[256];
  snprintf(text, sizeof text, "neighbours: %s: %s\n", what, ct_strerror(error));
  ct_abort(job, 1, text);
  ct_finalize(job, 1);
  return 1;
}

int main(void) {
  ct_job* job;
  const int joined = ct_init(&job);
  if (joined < 0) {
    fprintf(stderr, "neighbours: %s\n", ct_strerror(joined));
    return 1;
  }
  char here[65] = "?";
  gethostname(here, sizeof here - 1);
  const int ring = ct_ring_start(job, here, strlen(here));
  if (ring < 0) return fail(job, "start", ring);

  /* The launchers carry the names while this process does something else. */

  int error = ct_wait(job, ring);
  if (error < 0) return fail(job, "wait", error);
  const int rank = ct_rank(job), size = ct_size(job);
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  const void *of_left, *of_right; /* not ended by zeros; ours until the request is released */
  size_t left_size, right_size;
  if ((error = ct_gathered(job, ring, left, &of_left, &left_size)) < 0 ||
      (error = ct_gathered(job, ring, right, &of_right, &right_size)) < 0)
    return fail(job, "neighbours", error);
  char line[512];
  snprintf(line, sizeof line, "process %d of %d on %s, between %d on %.*s and %d on %.*s\n", rank, size, here,
           left, (int)left_size, (const char*)of_left, right, (int)right_size, (const char*)of_right);
  ct_print(job, CT_STDOUT, line);
  ct_release(job, ring);
  return ct_finalize(job, 0) < 0;
}
