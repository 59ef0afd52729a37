/* SPDX-License-Identifier: Apache-2.0 */
/* resume DIRECTORY [steps [milliseconds]]: processes that take steps together, and keep what they have in
 * files, so that one that dies is started again and goes on where it was, while the others wait for it:
 *
 *     charmrun +p8 ++nodelist nodes ++on-failure restart ./resume /shared/run1 100 50
 *
 * The directory must be there, on a file system that its processes find again. Each step is saved, then
 * followed by a barrier. What comes out does not depend on who died when. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "charmtree.h"

static char path[4096];

/* Steps that were done, 0 if none; *value is what has come of them. */
static int load(unsigned* value) {
  int done = 0;
  FILE* file = fopen(path, "r");
  if (file == NULL) return 0;
  if (fscanf(file, "%d %u", &done, value) != 2) done = 0;
  fclose(file);
  return done;
}

/* All or nothing: a process may die here, too. */
static int save(int done, unsigned value) {
  char fresh[sizeof path + 4];
  snprintf(fresh, sizeof fresh, "%s.new", path);
  FILE* file = fopen(fresh, "w");
  if (file == NULL) return -1;
  fprintf(file, "%d %u\n", done, value);
  return fclose(file) == 0 ? rename(fresh, path) : -1;
}

/* The tuple of a process is how often it has been started again. */
static int hear_restart(ct_job* job, const int* ranks, int count, void* argument) {
  (void)argument;
  ct_table(job);
  for (int i = 0; i < count; ++i) {
    char line[120];
    struct ct_peer peer;
    if (ct_lookup(job, ranks[i], &peer) < 0 || peer.size != sizeof(int)) continue;
    snprintf(line, sizeof line, "process %d: process %d is back (%d), after %d barriers\n", ct_rank(job),
             ranks[i], *(const int*)peer.tuple, ct_barriers(job));
    ct_print(job, CT_STDERR, line);
  }
  return 0;
}

int main(int argc, char** argv) {
  const int steps = argc > 2 ? atoi(argv[2]) : 10;
  const int pause = argc > 3 ? atoi(argv[3]) : 10;
  ct_job* job;
  int error = ct_init(&job);
  if (error < 0 || argc < 2) {
    fprintf(stderr, "resume: %s\n", error < 0 ? ct_strerror(error) : "give me a directory");
    return 1;
  }
  const int rank = ct_rank(job), restarts = ct_restarts(job);
  char line[120];
  snprintf(path, sizeof path, "%s/process.%d", argv[1], rank);
  unsigned value = 1;
  int done = restarts > 0 ? load(&value) : 0; /* a job begins at the beginning */
  ct_on_restart(job, hear_restart, NULL);
  error = ct_register(job, &restarts, sizeof restarts);
  if (error >= 0) error = ct_table(job);
  if (restarts > 0) {
    snprintf(line, sizeof line, "process %d goes on behind step %d, after %d barriers\n", rank, done,
             ct_barriers(job));
    ct_print(job, CT_STDERR, line);
  }
  while (error >= 0) {
    if (done > ct_barriers(job)) error = ct_barrier(job); /* behind the step that was done last */
    if (error < 0 || done == steps) break;
    poll(NULL, 0, pause); /* the work of a step */
    value = value * 1664525U + (unsigned)(rank + done);
    snprintf(line, sizeof line, "process %d step %d\n", rank, done);
    ct_print(job, CT_STDOUT, line);
    if (save(++done, value) != 0)
      error = ct_abort(job, 1, "resume: cannot save\n") < 0 ? CT_ELOST : CT_EENDED;
  }
  snprintf(line, sizeof line, "process %d has %u after %d steps\n", rank, value, done);
  if (error >= 0) error = ct_print(job, CT_STDOUT, line);
  if (error < 0) fprintf(stderr, "resume: %s\n", ct_strerror(error));
  ct_finalize(job, error < 0);
  return error < 0;
}
