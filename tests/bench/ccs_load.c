// SPDX-License-Identifier: Apache-2.0
//
// Stock CCS clients, as many as you like: each makes a connection, sends one request without data, reads the
// reply, closes, and begins again. Edge cases of the protocol are tests/cluster's; this only counts.
//
//   cc -O2 -I../.. -o ccs_load ccs_load.c -lpthread
//   ccs_load [-c clients] [-n requests of each] [-t seconds] [-w threads] [-p PE] ADDRESS PORT
//
// Ends when every client has made its requests, or after that time. Prints one line of names and values:
// requests, seconds, errors (a connection that ended before its reply), median_us, p99_us, p999_us and
// most_us (from the socket to the end of the reply; what is under way at the end counts with what it took so
// far), least and middle (requests of the slowest and of the median client), and by how much TcpExt
// ListenOverflows of this network has grown. Status 1 if there was no reply at all.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/bench/bench.h"
#include "tests/doubles/charm_wire.h"

enum { kRequest = 40, kReplyHead = 4, kEvents = 256, kRead = 1 << 16, kMostThreads = 64 };

static const char kHandler[] = "ccs_getinfo";

// What all threads read.
struct plan {
  struct sockaddr_in address;
  unsigned char request[kRequest];
  long requests;  // of each client; 0: until the time is over
  double begin, end;
};

struct client {
  int fd;  // -1: has made its requests
  int sent;
  double begin;
  uint64_t have;  // bytes of the reply
  unsigned char head[kReplyHead];
  long done;
};

struct thread {
  const struct plan* plan;
  pthread_t id;
  int epoll;
  struct client* clients;
  int count, busy;
  float* times;  // microseconds
  size_t size, capacity;
  long errors;
};

static void note_time(struct thread* t, double seconds) {
  if (t->size == t->capacity) {
    t->capacity = 2 * t->capacity + 4096;
    t->times = realloc(t->times, t->capacity * sizeof *t->times);
    if (t->times == NULL) give_up("ccs_load");
  }
  t->times[t->size++] = (float)(1e6 * seconds);
}

// Sends the request once the connection is there. On loopback it is as soon as connect() returns.
static void send_request(struct client* c, const struct plan* plan) {
  if (c->sent) return;
  c->sent = send(c->fd, plan->request, kRequest, MSG_NOSIGNAL) == kRequest;
}

static void begin_request(struct thread* t, struct client* c) {
  if (c->fd >= 0) close(c->fd);
  c->fd = -1;
  if (t->plan->requests > 0 && c->done == t->plan->requests) {
    --t->busy;
    return;
  }
  c->begin = now_s();
  c->sent = 0;
  c->have = 0;
  c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (c->fd < 0) give_up("ccs_load: socket");
  if (connect(c->fd, (const struct sockaddr*)&t->plan->address, sizeof t->plan->address) != 0 &&
      errno != EINPROGRESS)
    give_up("ccs_load: connect");
  send_request(c, t->plan);
  struct epoll_event event = {.events = EPOLLIN | (c->sent ? 0U : EPOLLOUT), .data.ptr = c};
  if (epoll_ctl(t->epoll, EPOLL_CTL_ADD, c->fd, &event) != 0) give_up("ccs_load: epoll");
}

static void finish(struct thread* t, struct client* c, int good) {
  if (good) {
    ++c->done;
    note_time(t, now_s() - c->begin);
  } else {
    ++t->errors;
  }
  begin_request(t, c);
}

static void receive(struct thread* t, struct client* c) {
  static __thread unsigned char bytes[kRead];
  const ssize_t got = recv(c->fd, bytes, sizeof bytes, 0);
  if (got < 0 && errno == EAGAIN) return;
  if (got <= 0) {
    finish(t, c, 0);
    return;
  }
  for (ssize_t i = 0; i < got && c->have + (uint64_t)i < kReplyHead; ++i)
    c->head[c->have + (uint64_t)i] = bytes[i];
  c->have += (uint64_t)got;
  if (c->have >= kReplyHead && c->have >= kReplyHead + (uint64_t)get(c->head)) finish(t, c, 1);
}

static void on(struct thread* t, struct client* c, uint32_t events) {
  if (!c->sent && (events & EPOLLOUT)) {
    send_request(c, t->plan);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
    if (c->sent) epoll_ctl(t->epoll, EPOLL_CTL_MOD, c->fd, &event);
  }
  if (events & (EPOLLIN | EPOLLERR | EPOLLHUP)) receive(t, c);
}

static void* load(void* argument) {
  struct thread* t = argument;
  for (int i = 0; i < t->count; ++i) begin_request(t, &t->clients[i]);
  for (double now = now_s(); t->busy > 0 && now < t->plan->end; now = now_s()) {
    struct epoll_event events[kEvents];
    const int count = epoll_wait(t->epoll, events, kEvents, 1 + (int)(1e3 * (t->plan->end - now)));
    for (int i = 0; i < count; ++i) on(t, events[i].data.ptr, events[i].events);
  }
  for (int i = 0; i < t->count; ++i) {
    if (t->clients[i].fd < 0) continue;
    note_time(t, now_s() - t->clients[i].begin);
    close(t->clients[i].fd);
  }
  return NULL;
}

// ---- what came of it

// TcpExt: a line of names, then one of values.
static long listen_overflows(void) {
  static char names[8192], values[8192];
  FILE* file = fopen("/proc/thread-self/net/netstat", "r");
  if (file == NULL) give_up("ccs_load: /proc/thread-self/net/netstat");
  long found = 0;
  while (fgets(names, sizeof names, file) != NULL && fgets(values, sizeof values, file) != NULL) {
    char *name_at, *value_at;
    char* name = strtok_r(names, " \n", &name_at);
    char* value = strtok_r(values, " \n", &value_at);
    for (; name != NULL && value != NULL;
         name = strtok_r(NULL, " \n", &name_at), value = strtok_r(NULL, " \n", &value_at)) {
      if (strcmp(name, "ListenOverflows") == 0) found = atol(value);
    }
  }
  fclose(file);
  return found;
}

static int by_time(const void* left, const void* right) {
  const float a = *(const float*)left, b = *(const float*)right;
  return (a > b) - (a < b);
}

static int by_count(const void* left, const void* right) {
  const long a = ((const struct client*)left)->done, b = ((const struct client*)right)->done;
  return (a > b) - (a < b);
}

static double share(const struct thread* all, double part) {
  const size_t at = (size_t)(part * (double)all->size);
  return (double)all->times[at < all->size ? at : all->size - 1];
}

static int report(struct thread* threads, int count, struct client* clients, int total) {
  struct thread all = {0};
  long requests = 0;
  const double seconds = now_s() - threads->plan->begin;
  for (int i = 0; i < count; ++i) {
    for (size_t k = 0; k < threads[i].size; ++k) note_time(&all, 1e-6 * (double)threads[i].times[k]);
    all.errors += threads[i].errors;
  }
  for (int i = 0; i < total; ++i) requests += clients[i].done;
  if (requests == 0) {
    fprintf(stderr, "ccs_load: no reply\n");
    return 1;
  }
  qsort(all.times, all.size, sizeof *all.times, by_time);
  qsort(clients, (size_t)total, sizeof *clients, by_count);
  printf(
      "requests %ld seconds %.4f errors %ld median_us %.1f p99_us %.1f p999_us %.1f most_us %.1f "
      "least %ld middle %ld",
      requests, seconds, all.errors, share(&all, 0.5), share(&all, 0.99), share(&all, 0.999),
      share(&all, 1.0), clients[0].done, clients[total / 2].done);
  return 0;
}

static int run(struct plan* plan, int total, int count, double limit) {
  struct client* clients = calloc((size_t)total, sizeof *clients);
  struct thread threads[kMostThreads] = {{0}};
  if (clients == NULL) give_up("ccs_load");
  const long before = listen_overflows();
  plan->begin = now_s();
  plan->end = plan->begin + limit;
  for (int i = 0; i < total; ++i) clients[i].fd = -1;
  for (int i = 0; i < count; ++i) {
    const int first = total * i / count, last = total * (i + 1) / count;
    threads[i].plan = plan;
    threads[i].clients = clients + first;
    threads[i].count = threads[i].busy = last - first;
    threads[i].epoll = epoll_create1(EPOLL_CLOEXEC);
    if (threads[i].epoll < 0 || pthread_create(&threads[i].id, NULL, load, &threads[i]) != 0)
      give_up("ccs_load: thread");
  }
  for (int i = 0; i < count; ++i) pthread_join(threads[i].id, NULL);
  const int status = report(threads, count, clients, total);
  if (status == 0) printf(" overflows %ld\n", listen_overflows() - before);
  return status;
}

static int usage(void) {
  fprintf(stderr,
          "usage: ccs_load [-c clients] [-n requests of each] [-t seconds] [-w threads] [-p PE] "
          "ADDRESS PORT\n");
  return 2;
}

int main(int argc, char** argv) {
  struct plan plan = {.address = {.sin_family = AF_INET}};
  int option, clients = 1, threads = 1, pe = 0;
  double limit = 1;
  while ((option = getopt(argc, argv, "c:n:t:w:p:")) != -1) {
    if (option == 'c') clients = atoi(optarg);
    if (option == 'n') plan.requests = atol(optarg);
    if (option == 't') limit = atof(optarg);
    if (option == 'w') threads = atoi(optarg);
    if (option == 'p') pe = atoi(optarg);
    if (option == '?') return usage();
  }
  if (argc - optind != 2 || inet_pton(AF_INET, argv[optind], &plan.address.sin_addr) != 1 || clients < 1 ||
      threads < 1 || threads > kMostThreads || threads > clients || limit <= 0)
    return usage();
  plan.address.sin_port = htons((uint16_t)atoi(argv[optind + 1]));
  put(plan.request + 4, (uint32_t)pe);
  memcpy(plan.request + 8, kHandler, sizeof kHandler);
  struct rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  return run(&plan, clients, threads, limit);
}
