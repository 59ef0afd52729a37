/* SPDX-License-Identifier: Apache-2.0 */
/* What exchanges of the client library cost, as process 0 prints it.
 *
 * exchange_waits HOW ROUNDS SIZE: by table, node-roots, shared, simple (ct_exchange_start), ring
 * (ct_ring_start), or put (the neighbours' values by ct_put, ct_fence and two ct_get), or nothing is
 * exchanged. `exchange MS MESSAGES` of each round: from when the first has begun until the last is done, and
 * what all processes together have said to their launchers.
 *
 * exchange_waits overlap COMPUTING ROUNDS SIZE WORK_MS: the first COMPUTING processes compute, the others
 * sleep. `overlap BLOCKING START ALONE WORK WAIT` of each round, in milliseconds, the means of those that
 * compute, or of all if none does: an allgather of SIZE bytes that is waited for at once; and one that is
 * waited for after as much work as takes WORK_MS without one (ALONE: then; WORK: here).
 *
 * exchange_waits start: `start REGISTERED TABLE`, when the last process had told its tuple and when the last
 * had the table (CLOCK_REALTIME, in seconds). */
#define _GNU_SOURCE
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "client-lib/charmtree.h"

#define REQUIRE(condition)                                                                      \
  do {                                                                                          \
    if (!(condition)) exit((fprintf(stderr, "%s is not so\n", #condition), fflush(stderr), 1)); \
  } while (0)

enum { MOST_ROUNDS = 100, COLUMNS = 5 };

static ct_job* job;
static long messages;

/* The library is linked statically, and says each of its messages by one call of this. */
ssize_t send(int fd, const void* bytes, size_t size, int flags) {
  ++messages;
  return syscall(SYS_sendto, fd, bytes, size, flags, NULL, 0);
}

static double now_s(void) { /* hosts have clocks of their own, but for this one */
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* What all processes have at this place, by rank; to be freed. */
static double* gathered(const double* own, int count) {
  double* all = malloc(sizeof *all * (size_t)(ct_size(job) * count));
  const int request = ct_allgather_start(job, NULL, 0, own, sizeof *own * (size_t)count);
  REQUIRE(all != NULL && request >= 0 && ct_wait(job, request) == CT_OK);
  for (int rank = 0; rank < ct_size(job); ++rank) {
    const void* value;
    size_t size;
    REQUIRE(ct_gathered(job, request, rank, &value, &size) == CT_OK);
    memcpy(all + rank * count, value, size);
  }
  REQUIRE(ct_release(job, request) == CT_OK);
  return all;
}

/* ---- exchanges ---- */

static void by_request(int request) {
  REQUIRE(request >= 0 && ct_wait(job, request) == CT_OK && ct_release(job, request) == CT_OK);
}

static void get_of(int rank, int round) {
  char key[64];
  const void* value;
  size_t size;
  snprintf(key, sizeof key, "%d of %d", round, rank);
  REQUIRE(ct_get(job, key, &value, &size) == CT_OK);
}

static void by_put(const char* value, size_t size, int round) {
  char key[64];
  const int rank = ct_rank(job), all = ct_size(job);
  snprintf(key, sizeof key, "%d of %d", round, rank);
  REQUIRE(ct_put(job, key, value, size) == CT_OK && ct_fence(job) == CT_OK);
  get_of((rank + all - 1) % all, round);
  get_of((rank + 1) % all, round);
}

static void exchange(const char* how, const char* value, size_t size, int round) {
  static const char* const kStrategies[] = {"table", "node-roots", "shared", "simple"};
  for (int strategy = 0; strategy < 4; ++strategy) {
    if (strcmp(how, kStrategies[strategy]) == 0)
      return by_request(ct_exchange_start(job, strategy, value, size));
  }
  if (strcmp(how, "nothing") == 0) return;
  if (strcmp(how, "ring") == 0) return by_request(ct_ring_start(job, value, size));
  REQUIRE(strcmp(how, "put") == 0);
  by_put(value, size, round);
}

static void exchanges(const char* how, int rounds, size_t size) {
  char value[CT_MAX_EXCHANGE];
  double own[3 * MOST_ROUNDS] = {0};
  memset(value, 'v', sizeof value);
  REQUIRE(size >= 1 && size <= sizeof value && rounds <= MOST_ROUNDS);
  for (int round = 0; round < rounds; ++round) {
    REQUIRE(ct_barrier(job) == CT_OK);
    const long before = messages;
    own[3 * round] = now_s();
    exchange(how, value, size, round);
    own[3 * round + 1] = now_s();
    own[3 * round + 2] = (double)(messages - before);
  }
  double* all = gathered(own, 3 * MOST_ROUNDS);
  for (int round = 0; round < rounds; ++round) {
    double first = own[3 * round], last = 0, said = 0;
    for (int rank = 0; rank < ct_size(job); ++rank) {
      const double* its = all + 3 * (rank * MOST_ROUNDS + round);
      first = fmin(first, its[0]);
      last = fmax(last, its[1]);
      said += its[2];
    }
    if (ct_rank(job) == 0) printf("exchange %.3f %.0f\n", 1e3 * (last - first), said);
  }
  free(all);
}

/* ---- overlap ---- */

static volatile double sink;

static double compute(long steps) { /* seconds */
  const double begun = now_s();
  double x = 1;
  for (long i = 0; i < steps; ++i) x = x * 1.0000001 + 1e-9;
  sink = x;
  return now_s() - begun;
}

static double work(long steps, double sleep_s) { /* seconds */
  if (steps > 0) return compute(steps);
  const double begun = now_s();
  usleep((useconds_t)(1e6 * sleep_s));
  return now_s() - begun;
}

static void overlap(int computing, int rounds, size_t size, double work_s) {
  char* value = calloc(1, size);
  double own[COLUMNS];
  const int counted = computing > 0 ? computing : ct_size(job);
  /* As much as takes that long where all compute at a time. */
  const long trial = 10000000;
  REQUIRE(value != NULL && ct_barrier(job) == CT_OK);
  long steps = 0;
  if (computing > 0) {
    const double took = ct_rank(job) < computing ? compute(trial) : 0;
    double* all = gathered(&took, 1);
    double sum = 0;
    for (int rank = 0; rank < computing; ++rank) sum += all[rank];
    free(all);
    if (ct_rank(job) < computing) steps = (long)((double)trial * work_s / (sum / computing));
  }
  for (int round = 0; round < rounds; ++round) {
    REQUIRE(ct_barrier(job) == CT_OK);
    double begun = now_s();
    by_request(ct_allgather_start(job, NULL, 0, value, size));
    own[0] = now_s() - begun;
    REQUIRE(ct_barrier(job) == CT_OK);
    own[2] = work(steps, work_s);
    REQUIRE(ct_barrier(job) == CT_OK);
    begun = now_s();
    const int request = ct_allgather_start(job, NULL, 0, value, size);
    own[1] = now_s() - begun;
    own[3] = work(steps, work_s);
    begun = now_s();
    by_request(request);
    own[4] = now_s() - begun;
    double* all = gathered(own, COLUMNS);
    if (ct_rank(job) == 0) printf("overlap");
    for (int column = 0; column < COLUMNS; ++column) {
      double sum = 0;
      for (int rank = 0; rank < counted; ++rank) sum += all[COLUMNS * rank + column];
      if (ct_rank(job) == 0) printf(" %.4f", 1e3 * sum / counted);
    }
    if (ct_rank(job) == 0) printf("\n");
    free(all);
  }
  free(value);
}

/* ---- start ---- */

static void start(double registered) {
  double own[2] = {registered, 0};
  REQUIRE(ct_table(job) == CT_OK);
  own[1] = now_s();
  double* all = gathered(own, 2);
  for (int rank = 0; rank < ct_size(job); ++rank) {
    own[0] = fmax(own[0], all[2 * rank]);
    own[1] = fmax(own[1], all[2 * rank + 1]);
  }
  if (ct_rank(job) == 0) printf("start %.6f %.6f\n", own[0], own[1]);
  free(all);
}

int main(int argc, char** argv) {
  const uint16_t port = 4711;
  REQUIRE(argc >= 2 && ct_init(&job) == CT_OK);
  REQUIRE(ct_register(job, &port, sizeof port) == CT_OK);
  const double registered = now_s();
  if (strcmp(argv[1], "start") == 0) {
    start(registered);
  } else if (strcmp(argv[1], "overlap") == 0) {
    REQUIRE(argc == 6);
    overlap(atoi(argv[2]), atoi(argv[3]), (size_t)atoi(argv[4]), 1e-3 * atof(argv[5]));
  } else {
    REQUIRE(argc == 4);
    exchanges(argv[1], atoi(argv[2]), (size_t)atoi(argv[3]));
  }
  return ct_finalize(job, 0);
}
