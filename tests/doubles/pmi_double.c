/* SPDX-License-Identifier: Apache-2.0 */
/* pmi_double ROUNDS [before|inside|abort|silent|unjoined]: a program of PMI-1 (libpmi), in C89. In each round
 * all put values, enter a barrier and get them; what is not as it should be is told, and is a failure. With a
 * second word the last process, in the middle round, kills itself before its barrier; or is killed inside,
 * where others are and the first one never comes; or aborts. `silent`: in the end each gets all values in a
 * thread that may do no system call. `unjoined`: aborts before all that. */
#define _GNU_SOURCE
#include "client-lib/pmi/pmi.h"

#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define REQUIRE(condition)                                                                                  \
  do {                                                                                                      \
    if (!(condition)) return (fprintf(stderr, "%s:%d: %s is not so\n", __FILE__, __LINE__, #condition), 1); \
  } while (0)

enum { ROOM = 1024, NAME = 256 };
static char name[NAME];
static int rank, size;

static int has(const char* key, const char* expected) {
  char value[ROOM];
  return PMI_KVS_Get(name, key, value, ROOM) == PMI_SUCCESS && strcmp(value, expected) == 0;
}

static int before_init(void) {
  int number;
  PMI_BOOL is_there = PMI_TRUE;
  REQUIRE(PMI_Initialized(&is_there) == PMI_SUCCESS && is_there == PMI_FALSE);
  REQUIRE(PMI_Get_size(&number) == PMI_ERR_INIT && PMI_Barrier() == PMI_ERR_INIT);
  REQUIRE(PMI_Finalize() == PMI_ERR_INIT);
  REQUIRE(PMI_Init(NULL) == PMI_ERR_INVALID_ARG);
  return 0;
}

static int join(void) {
  char id[NAME];
  int number = -1;
  PMI_BOOL flag = PMI_TRUE;
  REQUIRE(PMI_Init(&flag) == PMI_SUCCESS && flag == PMI_FALSE);
  REQUIRE(PMI_Init(&flag) == PMI_SUCCESS);
  REQUIRE(PMI_Initialized(&flag) == PMI_SUCCESS && flag == PMI_TRUE);
  REQUIRE(PMI_Get_rank(&rank) == PMI_SUCCESS && PMI_Get_size(&size) == PMI_SUCCESS);
  REQUIRE(rank >= 0 && rank < size);
  REQUIRE(PMI_Get_universe_size(&number) == PMI_SUCCESS && number == size);
  REQUIRE(PMI_Get_appnum(&number) == PMI_SUCCESS && number == 0);
  REQUIRE(PMI_KVS_Get_name_length_max(&number) == PMI_SUCCESS && number == NAME);
  REQUIRE(PMI_KVS_Get_my_name(name, NAME) == PMI_SUCCESS && strncmp(name, "kvs_", 4) == 0);
  REQUIRE(PMI_Get_id_length_max(&number) == PMI_SUCCESS && PMI_Get_id(id, number) == PMI_SUCCESS);
  REQUIRE(strcmp(id, name) == 0);
  REQUIRE(PMI_KVS_Get_my_name(name, 4) == PMI_ERR_INVALID_LENGTH);
  REQUIRE(PMI_Get_rank(NULL) == PMI_ERR_INVALID_ARG);
  return 0;
}

/* What is too much is refused, and what is just not too much is taken. */
static int limits(void) {
  char key[66], value[ROOM + 1], found[ROOM];
  int keys = 0, values = 0, puts = 0, error;
  REQUIRE(PMI_KVS_Get_key_length_max(&keys) == PMI_SUCCESS && keys == 64);
  REQUIRE(PMI_KVS_Get_value_length_max(&values) == PMI_SUCCESS && values == ROOM);
  memset(key, 'k', sizeof key);
  memset(value, 'v', sizeof value);
  key[keys] = value[values] = '\0';
  REQUIRE(PMI_KVS_Put(name, key, "") == PMI_ERR_INVALID_KEY_LENGTH);
  REQUIRE(PMI_KVS_Get(name, key, found, ROOM) == PMI_ERR_INVALID_KEY_LENGTH);
  REQUIRE(PMI_KVS_Put(name, "long", value) == PMI_ERR_INVALID_VAL_LENGTH);
  REQUIRE(PMI_KVS_Put(name, "", "v") == PMI_ERR_INVALID_KEY);
  REQUIRE(PMI_KVS_Put(name, "PMI_own", "v") == PMI_ERR_INVALID_KEY);
  REQUIRE(PMI_KVS_Put("another", "k", "v") == PMI_ERR_INVALID_KVS);
  REQUIRE(PMI_KVS_Put(name, NULL, "v") == PMI_ERR_INVALID_ARG);
  REQUIRE(PMI_KVS_Put(name, "k", NULL) == PMI_ERR_INVALID_ARG);
  REQUIRE(PMI_KVS_Put(NULL, "k", "v") == PMI_ERR_INVALID_ARG);
  key[keys - 1] = value[values - 1] = '\0';
  sprintf(key, "%d", rank);
  key[strlen(key)] = 'k';
  do {
    error = PMI_KVS_Put(name, key, value);
  } while (error == PMI_SUCCESS && ++puts < 100);
  REQUIRE(error == PMI_FAIL && puts == 15);
  REQUIRE(has(key, value));
  REQUIRE(PMI_KVS_Get(name, key, found, ROOM - 1) == PMI_ERR_INVALID_LENGTH);
  REQUIRE(PMI_KVS_Get(name, key, NULL, ROOM) == PMI_ERR_INVALID_ARG);
  REQUIRE(PMI_KVS_Get("another", key, found, ROOM) == PMI_ERR_INVALID_KVS);
  REQUIRE(PMI_KVS_Get(name, "nobody's", found, ROOM) == PMI_ERR_INVALID_KEY);
  REQUIRE(PMI_Barrier() == PMI_SUCCESS);
  for (puts = 0; puts < size; ++puts) {
    char number[16];
    sprintf(number, "%d", puts);
    memcpy(key, number, strlen(number));
    memset(key + strlen(number), 'k', (size_t)keys - 1 - strlen(number));
    REQUIRE(has(key, value));
  }
  return 0;
}

static int refusals(void) {
  char text[8];
  REQUIRE(PMI_KVS_Create(text, 8) == PMI_FAIL && PMI_KVS_Iter_first(name, text, 8, text, 8) == PMI_FAIL);
  REQUIRE(PMI_Publish_name("service", "port") == PMI_FAIL && PMI_Lookup_name("service", text) == PMI_FAIL);
  REQUIRE(PMI_Spawn_multiple(0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL) == PMI_FAIL);
  return 0;
}

/* Those that have the same host in their environment, and no others. */
static int clique(void) {
  char key[32], mapping[ROOM];
  const char* host = getenv("CHARMTREE_HOST");
  int count = 0, next = 0, other;
  int* ranks = malloc(sizeof *ranks * (size_t)size);
  host = host == NULL ? "" : host;
  REQUIRE(PMI_Get_clique_size(&count) == PMI_SUCCESS && count >= 1 && count <= size);
  REQUIRE(PMI_Get_clique_ranks(ranks, count - 1) == PMI_ERR_INVALID_LENGTH);
  REQUIRE(PMI_Get_clique_ranks(ranks, count) == PMI_SUCCESS);
  sprintf(key, "host-%d", rank);
  REQUIRE(PMI_KVS_Put(name, key, host) == PMI_SUCCESS && PMI_Barrier() == PMI_SUCCESS);
  for (other = 0; other < size; ++other) {
    sprintf(key, "host-%d", other);
    if (has(key, host)) REQUIRE(next < count && ranks[next++] == other);
  }
  REQUIRE(next == count);
  free(ranks);
  REQUIRE(PMI_KVS_Get(name, "PMI_process_mapping", mapping, ROOM) == PMI_SUCCESS);
  if (rank == 0) printf("mapping: %s\n", mapping);
  return 0;
}

static void end(const char* how) {
  if (*how == 'b') raise(SIGKILL);
  if (*how == 'a') PMI_Abort(0x107, "no more");
  if (*how != 'i') return;
  if (rank == 0) pause();
  if (rank == size - 1) alarm(1);
}

static int one_round(int round, const char* how) {
  char key[32], value[32], found[ROOM];
  int other;
  sprintf(key, "%d-%d", round, rank);
  sprintf(value, "in %d of %d", round, rank);
  REQUIRE(PMI_KVS_Put(name, key, "") == PMI_SUCCESS && has(key, ""));
  REQUIRE(PMI_KVS_Put(name, key, value) == PMI_SUCCESS && has(key, value));
  sprintf(key, "last-%d", rank);
  REQUIRE(PMI_KVS_Put(name, key, value) == PMI_SUCCESS && has(key, value));
  REQUIRE(PMI_KVS_Commit(name) == PMI_SUCCESS);
  sprintf(key, "%d-%d", round, (rank + 1) % size);
  if (size > 1) REQUIRE(PMI_KVS_Get(name, key, found, ROOM) == PMI_ERR_INVALID_KEY);
  if (*how == 'i' || rank == size - 1) end(how);
  REQUIRE(PMI_Barrier() == PMI_SUCCESS);
  for (other = 0; other < size; ++other) {
    sprintf(value, "in %d of %d", round, other);
    sprintf(key, "%d-%d", round, other);
    REQUIRE(has(key, value));
    sprintf(key, "last-%d", other);
    REQUIRE(has(key, value));
  }
  return 0;
}

static char (*keys)[32];
static volatile int gets;

/* Any system call but to exit is the process's end: also those by which a thread returns. */
static void* get_silently(void* unused) {
  static char value[ROOM];
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) return unused;
  while (gets < size && PMI_KVS_Get(name, keys[gets], value, ROOM) == PMI_SUCCESS) ++gets;
  syscall(SYS_exit, 0);
  return unused;
}

static int silently(void) {
  pthread_t thread;
  int other;
  keys = malloc(sizeof *keys * (size_t)size);
  for (other = 0; other < size; ++other) sprintf(keys[other], "last-%d", other);
  REQUIRE(pthread_create(&thread, NULL, get_silently, NULL) == 0 && pthread_join(thread, NULL) == 0);
  REQUIRE(gets == size);
  free(keys);
  return 0;
}

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 1;
  const char* how = argc > 2 ? argv[2] : "";
  int round;
  if (*how == 'u') return PMI_Abort(7, "not yet\n");
  if (before_init() || join() || limits() || refusals() || clique()) return 1;
  for (round = 0; round < rounds; ++round) {
    if (one_round(round, round == rounds / 2 ? how : "")) return 1;
  }
  if (*how == 's' && silently()) return 1;
  printf("process %d of %d: all values are there\n", rank, size);
  REQUIRE(PMI_Finalize() == PMI_SUCCESS && PMI_Barrier() == PMI_ERR_INIT);
  return 0;
}
