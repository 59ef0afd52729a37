/* SPDX-License-Identifier: Apache-2.0 */
/* asks_double [dies|answers|leaves]: each offers its name, late, and asks all others for theirs; what the
 * library says of hosts before there is a table must be what the table says then. Each prints `rank host
 * hosts peers topology`, the last one as the number of its bytes. `dies`: the last process dies instead of
 * offering anything; who has asked it is told that. `answers`: each answers each for himself, the last one
 * late; each prints `process RANK: N answers, asked by M`. `leaves`: all but the last go to ct_finalize, and
 * answer there what the last one asks them. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client-lib/charmtree.h"

#define REQUIRE(condition)                                                      \
  do {                                                                          \
    if (!(condition)) exit((fprintf(stderr, "%s is not so\n", #condition), 1)); \
  } while (0)

enum { LATE_US = 100000, POLL_MS = 100, MOST = 256 };

static ct_job* job;

static void check_places(void) {
  struct ct_peer peer;
  const int before = ct_host(job, ct_size(job) - 1);
  REQUIRE(ct_local_peer(job, ct_local_rank(job)) == ct_rank(job));
  REQUIRE(ct_local_peer(job, ct_local_size(job)) == CT_EINVAL);
  for (int rank = 0; rank < ct_size(job); ++rank) {
    REQUIRE(ct_lookup(job, rank, &peer) == CT_OK);
    REQUIRE(ct_host(job, rank) == peer.host && peer.host < ct_hosts(job));
    REQUIRE(peer.size == 0);
  }
  REQUIRE(before == ct_host(job, ct_size(job) - 1) && ct_host(job, ct_size(job)) == CT_EINVAL);
  for (int i = 0; i < ct_local_size(job); ++i)
    REQUIRE(ct_host(job, ct_local_peer(job, i)) == ct_host(job, ct_rank(job)));
}

/* As an allgather would have it, with so many asks under way as may be. */
static int ask_all(int lost) {
  int* requests = malloc(sizeof *requests * (size_t)ct_size(job));
  int failed = 0;
  for (int rank = 0; rank < ct_size(job); ++rank)
    REQUIRE((requests[rank] = ct_ask_start(job, rank, "name")) >= 0);
  for (int rank = 0; rank < ct_size(job); ++rank) {
    char expected[32];
    const void* value;
    size_t size;
    const int error = ct_wait(job, requests[rank]);
    snprintf(expected, sizeof expected, "process %d", rank);
    if (rank == lost) {
      REQUIRE(error == CT_EFAILED);
      ++failed;
    } else {
      REQUIRE(error == CT_OK && ct_gathered(job, requests[rank], rank, &value, &size) == CT_OK);
      REQUIRE(size == strlen(expected) && memcmp(value, expected, size) == 0);
      REQUIRE(ct_ask(job, rank, "name", &value, &size) == CT_OK && size == strlen(expected));
      REQUIRE(ct_set_timeout(job, 0) == CT_OK); /* from now on it is known */
      REQUIRE(ct_ask(job, rank, "name", &value, &size) == CT_OK && memcmp(value, expected, size) == 0);
      REQUIRE(ct_set_timeout(job, CT_FOREVER) == CT_OK);
    }
    REQUIRE(ct_release(job, requests[rank]) == CT_OK);
  }
  free(requests);
  return failed;
}

static int askers, late;
static char has_asked[MOST];

static void answer(int rank, const char* key) {
  char value[64];
  snprintf(value, sizeof value, "%d for %d", ct_rank(job), rank);
  REQUIRE(ct_answer(job, rank, key, value, strlen(value)) == CT_OK);
}

/* The process that asks for "later of N" has its answer by and by. */
static void is_asked(ct_job* of, int rank, const char* key, void* argument) {
  REQUIRE(of == job && argument == &askers && strncmp(key, "later of ", 9) == 0 && atoi(key + 9) == rank);
  REQUIRE(ct_barrier(job) == CT_EORDER && ct_progress(job) == CT_OK);
  REQUIRE(rank != ct_rank(job) && rank < MOST);
  askers += !has_asked[rank]; /* it may ask once more, where it is slow */
  has_asked[rank] = 1;
  if (rank == 0)
    ++late;
  else
    answer(rank, key);
}

/* The last one listens when others wait for it already. */
static int answer_all(void) {
  char key[32], expected[64];
  snprintf(key, sizeof key, "later of %d", ct_rank(job));
  REQUIRE(ct_table(job) == CT_OK);
  REQUIRE(ct_on_ask(job, "", is_asked, NULL) == CT_EINVAL &&
          ct_on_ask(job, NULL, is_asked, NULL) == CT_EINVAL);
  REQUIRE(ct_answer(job, ct_size(job), "k", "", 0) == CT_EINVAL && ct_answer(job, 0, "", "", 0) == CT_EINVAL);
  REQUIRE(ct_answer(job, 0, "nobody asked", "x", 1) == CT_OK);
  if (ct_rank(job) == ct_size(job) - 1) usleep(LATE_US);
  REQUIRE(ct_on_ask(job, "later", is_asked, &askers) == CT_OK);
  int *requests = malloc(sizeof *requests * (size_t)ct_size(job)), answers = 0;
  for (int rank = 0; rank < ct_size(job); ++rank)
    if (rank != ct_rank(job)) REQUIRE((requests[rank] = ct_ask_start(job, rank, key)) >= 0);
  while (askers < ct_size(job) - 1) {
    struct pollfd launcher = {.fd = ct_descriptor(job), .events = POLLIN};
    poll(&launcher, 1, POLL_MS);
    REQUIRE(ct_progress(job) == CT_OK);
  }
  if (late > 0) answer(0, "later of 0");
  for (int rank = 0; rank < ct_size(job); ++rank) {
    const void* value;
    size_t size;
    if (rank == ct_rank(job)) continue;
    REQUIRE(ct_wait(job, requests[rank]) == CT_OK);
    REQUIRE(ct_gathered(job, requests[rank], rank, &value, &size) == CT_OK);
    snprintf(expected, sizeof expected, "%d for %d", rank, ct_rank(job));
    REQUIRE(size == strlen(expected) && memcmp(value, expected, size) == 0);
    ++answers;
  }
  free(requests);
  REQUIRE(ct_on_ask(job, "later", NULL, NULL) == CT_OK);
  return answers;
}

/* The last one has answers of all others, which are in ct_finalize. */
static void ask_leavers(void) {
  char line[128], expected[64];
  int answers = 0;
  REQUIRE(ct_on_ask(job, "later", is_asked, &askers) == CT_OK);
  REQUIRE(ct_table(job) == CT_OK);
  if (ct_rank(job) < ct_size(job) - 1) return;
  usleep(LATE_US);
  for (int rank = 0; rank < ct_size(job) - 1; ++rank) {
    const void* value;
    size_t size;
    snprintf(line, sizeof line, "later of %d", ct_rank(job));
    REQUIRE(ct_ask(job, rank, line, &value, &size) == CT_OK);
    snprintf(expected, sizeof expected, "%d for %d", rank, ct_rank(job));
    REQUIRE(size == strlen(expected) && memcmp(value, expected, size) == 0);
    REQUIRE(ct_ask(job, rank, "else", &value, &size) == CT_EFAILED);
    ++answers;
  }
  snprintf(line, sizeof line, "%d answers\n", answers);
  REQUIRE(ct_print(job, CT_STDOUT, line) == CT_OK);
}

int main(int argc, char** argv) {
  const int dies = argc > 1 && strcmp(argv[1], "dies") == 0;
  char line[128], name[32];
  const char* xml;
  size_t size;
  REQUIRE(ct_init(&job) == CT_OK);
  const int last = ct_size(job) - 1;
  REQUIRE(ct_register(job, NULL, 0) == CT_OK);
  if (argc > 1 && strcmp(argv[1], "answers") == 0) {
    const int answers = answer_all();
    snprintf(line, sizeof line, "process %d: %d answers, asked by %d\n", ct_rank(job), answers, askers);
    REQUIRE(ct_print(job, CT_STDOUT, line) == CT_OK);
    return ct_finalize(job, 0) < 0;
  }
  if (argc > 1 && strcmp(argv[1], "leaves") == 0) {
    ask_leavers();
    return ct_finalize(job, 0) < 0;
  }
  check_places();
  if (!dies) REQUIRE(ct_topology(job, &xml, &size) == CT_OK && size == strlen(xml) + 1);
  usleep(LATE_US);
  if (dies && ct_rank(job) == last) raise(SIGKILL);
  snprintf(name, sizeof name, "process %d", ct_rank(job));
  REQUIRE(ct_offer(job, "name", name, strlen(name)) == CT_OK);
  const int failed = ask_all(dies ? last : -1);
  if (dies)
    snprintf(line, sizeof line, "process %d: %d failed\n", ct_rank(job), failed);
  else
    snprintf(line, sizeof line, "%d %d %d %d %zu\n", ct_rank(job), ct_host(job, ct_rank(job)), ct_hosts(job),
             ct_peers(job), size);
  REQUIRE(ct_print(job, CT_STDOUT, line) == CT_OK);
  return ct_finalize(job, 0) < 0;
}
