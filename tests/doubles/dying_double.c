/* SPDX-License-Identifier: Apache-2.0 */
/* dying_double CALL WHEN: all processes make every call of the client library; the last one dies inside CALL:
 * WHEN it has said half of what it says first there (torn), all of that (sent), when it is about to hear an
 * answer (deaf), or when it has heard one (heard); or behind it, where that does not happen. The others take
 * what it fails in for granted, and print `process N is done`. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "client-lib/charmtree.h"

#define REQUIRE(condition)                                                                      \
  do {                                                                                          \
    if (!(condition)) exit((fprintf(stderr, "%s is not so\n", #condition), fflush(stderr), 1)); \
  } while (0)

static ct_job* job;
static const char* when; /* set within CALL alone */

static void die_if(const char* now) {
  if (when != NULL && strcmp(when, now) == 0) raise(SIGKILL);
}

/* The library's own, which its calls end up in. */
ssize_t send(int fd, const void* bytes, size_t size, int flags) {
  if (when != NULL && strcmp(when, "torn") == 0) size /= 2;
  const ssize_t sent = syscall(SYS_sendto, fd, bytes, size, flags, NULL, 0);
  die_if("torn");
  die_if("sent");
  return sent;
}

ssize_t recvmsg(int fd, struct msghdr* message, int flags) {
  die_if("deaf");
  const ssize_t got = syscall(SYS_recvmsg, fd, message, flags);
  if (got > 0) die_if("heard");
  return got;
}

/* ---- calls: what is lost with a process may fail ---- */

static int is_good(int result) {
  return result >= 0 || result == CT_EFAILED;
}

static int finished(int request) {
  if (request < 0) return request;
  const int error = ct_wait(job, request);
  return is_good(error) ? ct_release(job, request) : error;
}

static int init(void) {
  return ct_init(&job);
}
static int port(void) {
  uint16_t number;
  const int fd = ct_port(job, CT_TCP, &number);
  return fd >= 0 ? close(fd) : fd;
}
static int topology(void) {
  const char* xml;
  size_t size;
  return ct_topology(job, &xml, &size);
}
static int offer(void) {
  return ct_offer(job, "name", "value", 5);
}
static int register_(void) {
  return ct_register(job, "tuple", 5);
}
static int table(void) {
  return ct_table(job);
}
static int lookup(void) {
  struct ct_peer peer;
  return ct_lookup(job, ct_size(job) - 1, &peer);
}
static int barrier(void) {
  return ct_barrier(job);
}
static int fence(void) {
  return ct_put(job, ct_rank(job) == 0 ? "one" : "other", "value", 5) == CT_OK ? ct_fence(job) : CT_EINVAL;
}
static int group_fence(void) {
  const int ranks[] = {0, ct_size(job) - 1};
  return ct_rank(job) == 0 || ct_rank(job) == ct_size(job) - 1 ? finished(ct_fence_start(job, ranks, 2))
                                                               : CT_OK;
}
static int allgather(void) {
  return finished(ct_allgather_start(job, NULL, 0, "value", 5));
}
static int ring(void) {
  return finished(ct_ring_start(job, "value", 5));
}
static int ask(void) {
  const void* value;
  size_t size;
  return ct_ask(job, (ct_rank(job) + 1) % ct_size(job), "name", &value, &size);
}
static int ask_late(void) { /* for what nobody offers: it is given up at the end */
  const int rank = ct_rank(job);
  return rank == 0 || rank == ct_size(job) - 1 ? ct_ask_start(job, 1, "never") : CT_OK;
}
static int exchange_by(int strategy) {
  return finished(ct_exchange_start(job, strategy, "value", 5));
}
static int by_roots(void) {
  return exchange_by(CT_NODE_ROOTS);
}
static int by_shares(void) {
  return exchange_by(CT_SHARED);
}
static int by_asks(void) {
  return exchange_by(CT_SIMPLE);
}
static void answer(ct_job* of, const struct ct_ccs_request* request, void* argument) {
  (void)argument;
  ct_ccs_reply(of, request->id, "reply", 5);
}
static int handler(void) {
  return ct_ccs_register(job, "call", CT_CCS_CONCAT, answer, NULL);
}
static int print(void) {
  char text[4096];
  memset(text, 'x', sizeof text - 1);
  text[sizeof text - 2] = '\n';
  text[sizeof text - 1] = '\0';
  return ct_rank(job) == ct_size(job) - 1 ? ct_print(job, CT_STDERR, text) : CT_OK;
}
static int done(void) {
  char text[64];
  snprintf(text, sizeof text, "process %d is done\n", ct_rank(job));
  return ct_rank(job) == ct_size(job) - 1 ? CT_OK : ct_print(job, CT_STDOUT, text);
}
static int finalize(void) {
  return ct_finalize(job, 0);
}

static const struct {
  const char* name;
  int (*call)(void);
} kCalls[] = {
    {"init", init},
    {"port", port},
    {"topology", topology},
    {"offer", offer},
    {"register", register_},
    {"table", table},
    {"lookup", lookup},
    {"barrier", barrier},
    {"fence", fence},
    {"group_fence", group_fence},
    {"allgather", allgather},
    {"ring", ring},
    {"ask", ask},
    {"ask_late", ask_late},
    {"by_roots", by_roots},
    {"by_shares", by_shares},
    {"by_asks", by_asks},
    {"handler", handler},
    {"print", print},
    {"done", done},
    {"finalize", finalize},
};

int main(int argc, char** argv) {
  REQUIRE(argc == 3);
  /* The library knows its rank from ct_init on; before, the launcher's word counts. */
  const char* number = getenv("CHARMTREE_PROCESS");
  const char* all = getenv("CHARMTREE_PROCESSES");
  REQUIRE(number != NULL && all != NULL);
  const int dies = atoi(number) == atoi(all) - 1;
  int met = 0;
  for (size_t i = 0; i < sizeof kCalls / sizeof *kCalls; ++i) {
    const int here = strcmp(argv[1], kCalls[i].name) == 0;
    met = met || here;
    if (dies && here) when = argv[2];
    const int result = kCalls[i].call();
    if (dies && here) raise(SIGKILL);
    if (!is_good(result)) {
      fprintf(stderr, "%s: %s\n", kCalls[i].name, ct_strerror(result));
      return 1;
    }
  }
  return !met;
}
