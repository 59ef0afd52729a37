/* SPDX-License-Identifier: Apache-2.0 */
/* pmi2_double ROUNDS [abort|die]: a program of PMI-2 (libpmi2), in C89. In each round all put values, enter a
 * fence and get them, and tell their neighbours something by the ring; the first of each host tells the
 * others something without a fence; what is not as it should be is told, and is a failure. `abort`: in the
 * middle round the last process has the job ended; `die`: itself. */
#include "client-lib/pmi/pmi2.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REQUIRE(condition)                                                                                  \
  do {                                                                                                      \
    if (!(condition)) return (fprintf(stderr, "%s:%d: %s is not so\n", __FILE__, __LINE__, #condition), 1); \
  } while (0)

static char name[256];
static int rank, size;

static int has(const char* jobid, const char* key, const char* expected) {
  char value[PMI2_MAX_VALLEN];
  int length = -1;
  return PMI2_KVS_Get(jobid, PMI2_ID_NULL, key, value, sizeof value, &length) == PMI2_SUCCESS &&
         strcmp(value, expected) == 0 && length == (int)strlen(expected);
}

static int join(void) {
  int spawned = 1, program = 1, number = -1;
  REQUIRE(!PMI2_Initialized() && PMI2_KVS_Fence() == PMI2_ERR_INIT && PMI2_Finalize() == PMI2_ERR_INIT);
  REQUIRE(PMI2_Init(NULL, &size, &rank, &program) == PMI2_ERR_INVALID_ARG);
  REQUIRE(PMI2_Init(&spawned, &size, &rank, &program) == PMI2_SUCCESS && PMI2_Initialized());
  REQUIRE(spawned == 0 && program == 0 && rank >= 0 && rank < size);
  REQUIRE(PMI2_Init(&spawned, &size, &rank, &program) == PMI2_SUCCESS);
  REQUIRE(PMI2_Job_GetId(name, sizeof name) == PMI2_SUCCESS && strncmp(name, "kvs_", 4) == 0);
  REQUIRE(PMI2_Job_GetId(name, 3) == PMI2_ERR_INVALID_LENGTH);
  REQUIRE(PMI2_Job_GetRank(&number) == PMI2_SUCCESS && number == rank);
  return 0;
}

static int attributes(void) {
  char text[PMI2_MAX_ATTRVALUE], expected[16];
  int found = -1, count = 0, length = 0, number = 0;
  int* ranks = malloc(sizeof *ranks * (size_t)size);
  sprintf(expected, "%d", size);
  REQUIRE(PMI2_Info_GetJobAttr("universeSize", text, sizeof text, &found) == PMI2_SUCCESS && found == 1);
  REQUIRE(strcmp(text, expected) == 0);
  REQUIRE(PMI2_Info_GetJobAttr("hasNameServ", text, 3, &found) == PMI2_ERR_INVALID_LENGTH);
  REQUIRE(PMI2_Info_GetJobAttr("hasNameServ", text, sizeof text, &found) == PMI2_SUCCESS && found == 1);
  REQUIRE(strcmp(text, "FALSE") == 0);
  REQUIRE(PMI2_Info_GetJobAttr("physTopology", text, sizeof text, &found) == PMI2_SUCCESS && found == 0);
  REQUIRE(PMI2_Info_GetJobAttr("PMI_process_mapping", text, sizeof text, &found) == PMI2_SUCCESS);
  REQUIRE(found == 1);
  if (rank == 0) printf("mapping: %s\n", text);
  REQUIRE(PMI2_Info_GetJobAttrIntArray("universeSize", &number, 1, &length, &found) == PMI2_SUCCESS);
  REQUIRE(found == 1 && length == 1 && number == size);
  REQUIRE(PMI2_Info_GetSize(&count) == PMI2_SUCCESS && count >= 1 && count <= size);
  REQUIRE(PMI2_Info_GetNodeAttrIntArray("localRanksCount", &number, 1, &length, &found) == PMI2_SUCCESS);
  REQUIRE(found == 1 && length == 1 && number == count);
  REQUIRE(PMI2_Info_GetNodeAttrIntArray("localRanks", ranks, count, &length, &found) == PMI2_SUCCESS);
  REQUIRE(found == 1 && length == count && ranks[0] <= rank && ranks[count - 1] >= rank);
  REQUIRE(PMI2_Info_GetNodeAttrIntArray("localRanks", ranks, count - 1, &length, &found) ==
          PMI2_ERR_INVALID_LENGTH);
  free(ranks);
  REQUIRE(PMI2_Nameserv_publish("service", NULL, "port") == PMI2_FAIL);
  REQUIRE(PMI2_Job_Connect(name, NULL) == PMI2_FAIL);
  return 0;
}

/* The first process of each host tells the others of it something. */
static int of_host(void) {
  char text[PMI2_MAX_ATTRVALUE], expected[32];
  int found = -1, count = 0, first = 0, length = 0;
  int* ranks = malloc(sizeof *ranks * (size_t)size);
  REQUIRE(PMI2_Info_GetSize(&count) == PMI2_SUCCESS);
  REQUIRE(PMI2_Info_GetNodeAttrIntArray("localRanks", ranks, count, &length, &found) == PMI2_SUCCESS);
  first = ranks[0];
  free(ranks);
  REQUIRE(PMI2_Info_GetNodeAttr("nobody's", text, sizeof text, &found, 0) == PMI2_SUCCESS && found == 0);
  REQUIRE(PMI2_Info_GetNodeAttr(NULL, text, sizeof text, &found, 0) == PMI2_ERR_INVALID_ARG);
  REQUIRE(PMI2_Info_PutNodeAttr("memory", NULL) == PMI2_ERR_INVALID_ARG);
  sprintf(expected, "of %d", first);
  if (rank == first) REQUIRE(PMI2_Info_PutNodeAttr("memory", expected) == PMI2_SUCCESS);
  REQUIRE(PMI2_Info_GetNodeAttr("memory", text, sizeof text, &found, 1) == PMI2_SUCCESS && found == 1);
  REQUIRE(strcmp(text, expected) == 0);
  REQUIRE(PMI2_Info_GetNodeAttr("memory", text, 3, &found, 1) == PMI2_ERR_INVALID_LENGTH);
  return 0;
}

static int limits(void) {
  char key[PMI2_MAX_KEYLEN + 1], value[PMI2_MAX_VALLEN + 1], found[4];
  int length = 0;
  memset(key, 'k', PMI2_MAX_KEYLEN);
  memset(value, 'v', PMI2_MAX_VALLEN);
  key[PMI2_MAX_KEYLEN] = value[PMI2_MAX_VALLEN] = '\0';
  REQUIRE(PMI2_KVS_Put(key, "") == PMI2_ERR_INVALID_KEY_LENGTH);
  REQUIRE(PMI2_KVS_Put("long", value) == PMI2_ERR_INVALID_VAL_LENGTH);
  REQUIRE(PMIX_Ring(value, &length, &length, found, found, sizeof found) == PMI2_ERR_INVALID_VAL_LENGTH);
  sprintf(key, "cut-%d", rank);
  REQUIRE(PMI2_KVS_Put(key, "abcde") == PMI2_SUCCESS);
  REQUIRE(PMI2_KVS_Get(NULL, rank, key, found, sizeof found, &length) == PMI2_SUCCESS);
  REQUIRE(length == -5 && strcmp(found, "abc") == 0);
  REQUIRE(PMI2_KVS_Get("another", rank, key, found, sizeof found, &length) == PMI2_ERR_INVALID_ARG);
  REQUIRE(PMI2_KVS_Get(name, rank, key, found, 0, &length) == PMI2_ERR_INVALID_ARG);
  REQUIRE(PMI2_KVS_Get(name, rank, "nobody's", found, sizeof found, &length) == PMI2_ERR_INVALID_KEY);
  return 0;
}

static int ring(void) {
  char own[32], left[32], right[32], expected[32];
  int place = -1, places = -1;
  sprintf(own, "from %d", rank);
  REQUIRE(PMIX_Ring(own, &place, &places, left, right, sizeof left) == PMI2_SUCCESS);
  REQUIRE(place == rank && places == size);
  sprintf(expected, "from %d", (rank + size - 1) % size);
  REQUIRE(strcmp(left, expected) == 0);
  sprintf(expected, "from %d", (rank + 1) % size);
  REQUIRE(strcmp(right, expected) == 0);
  return 0;
}

static int one_round(int round, const char* how) {
  char key[32], value[32];
  int other;
  sprintf(key, "%d-%d", round, rank);
  sprintf(value, "in %d of %d", round, rank);
  REQUIRE(PMI2_KVS_Put(key, value) == PMI2_SUCCESS && has(NULL, key, value));
  if (*how != '\0' && rank == size - 1) PMI2_Abort(*how == 'a', "no more\n");
  REQUIRE(PMI2_KVS_Fence() == PMI2_SUCCESS);
  for (other = 0; other < size; ++other) {
    sprintf(key, "%d-%d", round, other);
    sprintf(value, "in %d of %d", round, other);
    REQUIRE(has(name, key, value) && has(NULL, key, value));
  }
  return ring();
}

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 1;
  const char* how = argc > 2 ? argv[2] : "";
  int round;
  if (join() || attributes() || of_host() || limits()) return 1;
  for (round = 0; round < rounds; ++round) {
    if (one_round(round, round == rounds / 2 ? how : "")) return 1;
  }
  printf("process %d of %d: all values are there\n", rank, size);
  REQUIRE(PMI2_Finalize() == PMI2_SUCCESS && PMI2_Finalize() == PMI2_ERR_INIT);
  return 0;
}
