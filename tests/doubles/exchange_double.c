/* SPDX-License-Identifier: Apache-2.0 */
/* exchange_double ROUNDS [before|inside]: in each round all put values, enter a fence and get them, beside
 * gathers of all and of those with even or odd numbers, and a ring; what is not as it should be ends the job.
 * With a second word the last process kills itself in the middle round, before its fence or inside. A fence
 * that fails is told, and is the end of the rounds. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client-lib/charmtree.h"

#define REQUIRE(condition)                                                       \
  do {                                                                           \
    if (!(condition)) return (fprintf(stderr, "%s is not so\n", #condition), 1); \
  } while (0)

static ct_job* job;

static int is(const void* value, size_t size, const char* expected) {
  return size == strlen(expected) && memcmp(value, expected, size) == 0;
}

static int get(int process, int round, int key_round) {
  char key[32], expected[32];
  const void* value;
  size_t size;
  snprintf(key, sizeof key, "%d of %d", key_round, process);
  snprintf(expected, sizeof expected, "%d/%d", key_round < 0 ? round : key_round, process);
  return ct_get(job, key, &value, &size) == CT_OK && is(value, size, expected);
}

static int put(int key_round, int round) {
  char key[32], value[32];
  snprintf(key, sizeof key, "%d of %d", key_round, ct_rank(job));
  snprintf(value, sizeof value, "%d/%d", round, ct_rank(job));
  return ct_put(job, key, value, strlen(value));
}

/* What neighbours of the ring have given, and nobody else. */
static int passed_on(int ring) {
  for (int process = 0; process < ct_size(job); ++process) {
    char expected[32];
    const void* value = NULL;
    size_t size = 0;
    const int apart = (process - ct_rank(job) + ct_size(job)) % ct_size(job);
    const int is_beside = apart == 1 || apart == ct_size(job) - 1;
    const int error = ct_gathered(job, ring, process, &value, &size);
    snprintf(expected, sizeof expected, "%d", process);
    if (is_beside ? error != CT_OK || !is(value, size, expected) : error != CT_EINVAL) return 0;
  }
  return ct_release(job, ring) == CT_OK;
}

static int gathered_all(int request, int of_half) {
  for (int process = 0; process < ct_size(job); ++process) {
    char expected[32];
    const void* value = NULL;
    size_t size = 0;
    const int is_in = !of_half || process % 2 == ct_rank(job) % 2;
    const int error = ct_gathered(job, request, process, &value, &size);
    snprintf(expected, sizeof expected, "%d", process);
    if (is_in ? error != CT_OK || !is(value, size, expected) : error != CT_EINVAL) return 0;
  }
  return ct_release(job, request) == CT_OK;
}

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 1;
  const char* dies = argc > 2 ? argv[2] : "";
  REQUIRE(ct_init(&job) == CT_OK);
  const int rank = ct_rank(job), size = ct_size(job);
  char own[32];
  snprintf(own, sizeof own, "%d", rank);
  int* half = malloc(sizeof *half * (size_t)size);
  int count = 0;
  for (int process = rank % 2; process < size; process += 2) half[count++] = process;
  int round = 0, error = CT_OK;
  for (; round < rounds && error == CT_OK; ++round) {
    const int is_last = *dies && rank == size - 1 && round == rounds / 2;
    REQUIRE(put(round, round) == CT_OK && put(-1, round) == CT_OK);
    if (is_last && *dies == 'b') raise(SIGKILL);
    const int all = ct_allgather_start(job, NULL, 0, own, strlen(own));
    const int some = ct_allgather_start(job, half, count, own, strlen(own));
    const int ring = ct_ring_start(job, own, strlen(own));
    REQUIRE(all >= 0 && some >= 0 && ring >= 0);
    if (is_last) raise(SIGKILL);
    error = ct_fence(job);
    if (error != CT_OK) { /* nobody is done inside one, however it ends */
      ct_wait(job, ring);
      ct_wait(job, some);
      ct_wait(job, all);
      break;
    }
    for (int process = 0; process < size; ++process)
      REQUIRE(get(process, round, round) && get(process, round, 0) && get(process, round, -1));
    REQUIRE(ct_wait(job, some) == CT_OK && ct_wait(job, all) == CT_OK);
    REQUIRE(ct_wait(job, ring) == CT_OK && passed_on(ring));
    REQUIRE(gathered_all(all, 0) && gathered_all(some, 1));
  }
  free(half);
  if (error != CT_OK) {
    printf("process %d: round %d: %s\n", rank, round, ct_strerror(error));
    return error == CT_EFAILED ? ct_finalize(job, 0) : 1;
  }
  printf("process %d: all values are there\n", rank);
  return ct_finalize(job, 0);
}
