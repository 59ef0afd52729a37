/* SPDX-License-Identifier: Apache-2.0 */
/* strategies_double ROUNDS SIZE [transport|dies]: in each round all exchange a value of SIZE bytes by each of
 * the strategies; what is not as it should be ends the job. Process 0 prints, of each strategy, how long its
 * exchanges took there: `NAME milliseconds...`. `transport`: the roots exchange over connections of their
 * own. `dies`: the last process kills itself in the first round instead of taking part; exchanges that fail
 * are told. */
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "client-lib/charmtree.h"

#define REQUIRE(condition)                                                                      \
  do {                                                                                          \
    if (!(condition)) exit((fprintf(stderr, "%s is not so\n", #condition), fflush(stderr), 1)); \
  } while (0)

static const char* const kNames[] = {"table", "node_roots", "shared", "simple"};
enum { STRATEGIES = 4 };

static ct_job* job;
static int carried, listener = -1;

static double now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

/* What `rank` gives. */
static void fill(char* value, size_t size, int rank, int turn) {
  for (size_t i = 0; i < size; ++i) value[i] = (char)(rank * 7 + turn + (int)i * 13 + (rank >> 8));
}

static void send_whole(int fd, const char* data, size_t size) {
  while (size > 0) {
    const ssize_t n = write(fd, data, size);
    REQUIRE(n > 0);
    data += n;
    size -= (size_t)n;
  }
}

static void receive_whole(int fd, char* data, size_t size) {
  while (size > 0) {
    const ssize_t n = read(fd, data, size);
    REQUIRE(n > 0);
    data += n;
    size -= (size_t)n;
  }
}

/* To or from: the values of the host that this root is on. */
static void move_block(void (*move)(int, char*, size_t), int fd, char* values, size_t size, int root) {
  struct ct_peer first, each;
  REQUIRE(ct_lookup(job, root, &first) == CT_OK);
  for (int rank = 0; rank < ct_size(job); ++rank) {
    REQUIRE(ct_lookup(job, rank, &each) == CT_OK);
    if (each.host == first.host) move(fd, values + (size_t)rank * size, size);
  }
}

static void send_out(int fd, char* data, size_t size) {
  send_whole(fd, data, size);
}

static int connect_to(int root) {
  struct ct_peer peer;
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV}, *found;
  char port[8];
  REQUIRE(ct_lookup(job, root, &peer) == CT_OK && peer.size == sizeof(uint16_t));
  snprintf(port, sizeof port, "%u",
           (unsigned)*(const uint16_t*)memcpy(&(uint16_t){0}, peer.tuple, peer.size));
  REQUIRE(getaddrinfo(peer.address, port, &hints, &found) == 0);
  const int fd = socket(found->ai_family, SOCK_STREAM, 0);
  REQUIRE(fd >= 0 && connect(fd, found->ai_addr, found->ai_addrlen) == 0);
  freeaddrinfo(found);
  return fd;
}

/* All to the first root, and all of it back. */
static int carry(ct_job* of, void* values, size_t size, const int* roots, int count, void* argument) {
  const size_t whole = (size_t)ct_size(of) * size;
  REQUIRE(argument == &carried);
  ++carried;
  if (ct_rank(of) != roots[0]) {
    const int me = ct_rank(of), fd = connect_to(roots[0]);
    send_whole(fd, (const char*)&me, sizeof me);
    move_block(send_out, fd, values, size, me);
    receive_whole(fd, values, whole);
    return close(fd);
  }
  int* fds = calloc((size_t)count, sizeof *fds);
  for (int i = 1; i < count; ++i) {
    int who;
    fds[i] = accept(listener, NULL, NULL);
    REQUIRE(fds[i] >= 0);
    receive_whole(fds[i], (char*)&who, sizeof who);
    move_block(receive_whole, fds[i], values, size, who);
  }
  for (int i = 1; i < count; ++i) {
    send_whole(fds[i], values, whole);
    close(fds[i]);
  }
  free(fds);
  return 0;
}

/* CT_OK, or CT_EFAILED. */
static int exchange(int strategy, size_t size, int turn, double* took) {
  char own[CT_MAX_EXCHANGE], expected[CT_MAX_EXCHANGE];
  fill(own, size, ct_rank(job), turn);
  const double begun = now_ms();
  const int request = ct_exchange_start(job, strategy, own, size);
  REQUIRE(request >= 0);
  const int error = ct_wait(job, request);
  *took = now_ms() - begun;
  REQUIRE(error == CT_OK || error == CT_EFAILED);
  for (int rank = 0; error == CT_OK && rank < ct_size(job); ++rank) {
    const void* value;
    size_t bytes;
    fill(expected, size, rank, turn);
    REQUIRE(ct_gathered(job, request, rank, &value, &bytes) == CT_OK);
    REQUIRE(bytes == size && memcmp(value, expected, size) == 0);
  }
  REQUIRE(ct_release(job, request) == CT_OK);
  return error;
}

int main(int argc, char** argv) {
  REQUIRE(argc >= 3);
  const int rounds = atoi(argv[1]);
  const size_t size = (size_t)atoi(argv[2]);
  const char* how = argc > 3 ? argv[3] : "";
  double* took = calloc((size_t)rounds * STRATEGIES, sizeof *took);
  uint16_t port;
  REQUIRE(took != NULL && ct_init(&job) == CT_OK);
  REQUIRE((listener = ct_port(job, CT_TCP, &port)) >= 0 && listen(listener, 64) == 0);
  REQUIRE(ct_register(job, &port, sizeof port) == CT_OK);
  if (strcmp(how, "transport") == 0) REQUIRE(ct_set_transport(job, carry, &carried) == CT_OK);
  REQUIRE(ct_table(job) == CT_OK);
  if (strcmp(how, "dies") == 0 && ct_rank(job) == ct_size(job) - 1) raise(SIGKILL);
  for (int round = 0; round < rounds; ++round) {
    for (int strategy = 0; strategy < STRATEGIES; ++strategy) {
      const int turn = round * STRATEGIES + strategy;
      if (*how == '\0') REQUIRE(ct_barrier(job) == CT_OK);
      if (exchange(strategy, size, turn, &took[strategy * rounds + round]) != CT_OK) {
        char line[64];
        snprintf(line, sizeof line, "process %d: %s failed\n", ct_rank(job), kNames[strategy]);
        REQUIRE(ct_print(job, CT_STDOUT, line) == CT_OK);
      }
    }
  }
  for (int strategy = 0; ct_rank(job) == 0 && strategy < STRATEGIES; ++strategy) {
    printf("%s", kNames[strategy]);
    for (int round = 0; round < rounds; ++round) printf(" %.3f", took[strategy * rounds + round]);
    printf("\n");
  }
  if (carried > 0) {
    char line[64];
    snprintf(line, sizeof line, "process %d carried %d\n", ct_rank(job), carried);
    REQUIRE(ct_print(job, CT_STDOUT, line) == CT_OK);
  }
  free(took);
  return ct_finalize(job, 0);
}
