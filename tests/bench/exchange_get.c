/* SPDX-License-Identifier: Apache-2.0 */
/* exchange_get shared|pmi ENTRIES GETS: the processes give so many values together; then process 0 prints
 * `get_ns N`, what one get of any of them takes. By the client library, or by PMI-1 over the socket to the
 * launcher: the same values. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "client-lib/charmtree.h"

#define REQUIRE(condition)                                                      \
  do {                                                                          \
    if (!(condition)) exit((fprintf(stderr, "%s is not so\n", #condition), 1)); \
  } while (0)

static ct_job* job;
static int pmi_fd = -1, rank, size;
static char kvs[256];

/* The next number of a sequence without order. */
static unsigned draw(void) {
  static uint64_t state = 1;
  state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (unsigned)(state >> 33);
}

/* The answer, without its end of line. */
static const char* ask(const char* request) {
  static char answer[1024];
  size_t got = 0;
  REQUIRE(write(pmi_fd, request, strlen(request)) == (ssize_t)strlen(request));
  do {
    const ssize_t n = read(pmi_fd, answer + got, sizeof answer - 1 - got);
    REQUIRE(n > 0);
    got += (size_t)n;
  } while (answer[got - 1] != '\n');
  answer[got - 1] = '\0';
  return answer;
}

static void begin(const char* how) {
  const char* fd = getenv("PMI_FD");
  if (strcmp(how, "pmi") != 0) {
    REQUIRE(ct_init(&job) == CT_OK);
    rank = ct_rank(job);
    size = ct_size(job);
    return;
  }
  REQUIRE(fd != NULL);
  pmi_fd = atoi(fd);
  rank = atoi(getenv("PMI_RANK"));
  size = atoi(getenv("PMI_SIZE"));
  ask("cmd=init pmi_version=1 pmi_subversion=1\n");
  const char* name = strstr(ask("cmd=get_my_kvsname\n"), "kvsname=");
  REQUIRE(name != NULL && sscanf(name, "kvsname=%255s", kvs) == 1);
}

static void put(const char* key, const char* value) {
  char request[512];
  if (pmi_fd < 0) {
    REQUIRE(ct_put(job, key, value, strlen(value)) == CT_OK);
    return;
  }
  snprintf(request, sizeof request, "cmd=put kvsname=%s key=%s value=%s\n", kvs, key, value);
  REQUIRE(strstr(ask(request), "rc=0") != NULL);
}

static void fence(void) {
  if (pmi_fd < 0)
    REQUIRE(ct_fence(job) == CT_OK);
  else
    ask("cmd=barrier_in\n");
}

static void get(const char* key) {
  char request[512];
  const void* value;
  size_t bytes;
  if (pmi_fd < 0) {
    REQUIRE(ct_get(job, key, &value, &bytes) == CT_OK && *(const char*)value == 'v');
    return;
  }
  snprintf(request, sizeof request, "cmd=get kvsname=%s key=%s\n", kvs, key);
  REQUIRE(strstr(ask(request), "value=v") != NULL);
}

static double now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

int main(int argc, char** argv) {
  REQUIRE(argc == 4);
  const int entries = atoi(argv[2]), gets = atoi(argv[3]);
  char key[64], value[64];
  begin(argv[1]);
  for (int i = rank; i < entries; i += size) {
    snprintf(key, sizeof key, "address-of-%d", i);
    snprintf(value, sizeof value, "v%d", i);
    put(key, value);
  }
  fence();
  char(*keys)[24] = malloc(sizeof *keys * (size_t)gets);
  for (int i = 0; i < gets; ++i)
    snprintf(keys[i], sizeof *keys, "address-of-%d", (int)(draw() % (unsigned)entries));
  const double before = now_ns();
  for (int i = 0; rank == 0 && i < gets; ++i) get(keys[i]);
  if (rank == 0) printf("get_ns %.1f\n", (now_ns() - before) / gets);
  free(keys);
  fence();
  if (pmi_fd < 0) return ct_finalize(job, 0);
  ask("cmd=finalize\n");
  return 0;
}
