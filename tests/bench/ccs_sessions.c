// SPDX-License-Identifier: Apache-2.0
//
// CCS sessions (docs/manual/ccs.md): each is one connection that always has some requests without data under
// way, and sends a new one for each reply. Edge cases of the protocol are tests/cluster's; this only counts.
//
//   cc -O2 -I../.. -o ccs_sessions ccs_sessions.c -lcrypto
//   ccs_sessions [-c sessions] [-d requests under way in each] [-t seconds] [-k KEY] ADDRESS PORT
//
// KEY is that of level 0, 32 hexadecimal digits: then every message has its code, which is checked. Prints
// one line of names and values: requests, seconds, errors (replies with a status other than 0, or a wrong
// code). Status 1 if a session ended before its time.
#define _GNU_SOURCE
#define OPENSSL_SUPPRESS_DEPRECATED
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <openssl/hmac.h>  // tidy: allow(library) the codes of sessions, without our own code
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/bench/bench.h"
#include "tests/doubles/charm_wire.h"

enum { kHello = 24, kKey = 16, kSecret = 32, kCode = 16, kRequest = 48, kMostDepth = 256, kEvents = 64 };
enum { kReplyHead = 12, kRoom = 1 << 16, kMostSessions = 4096 };

static const char kHandler[] = "ccs_getinfo";

struct plan {
  struct sockaddr_in address;
  int depth;
  unsigned char key[kKey];
  int has_key;
};

// The codes of one direction.
struct sealer {
  HMAC_CTX* hmac;  // NULL: there is no key
  uint64_t messages;
};

struct session {
  int fd;
  struct sealer out, in;
  uint32_t number;
  unsigned char output[kMostDepth * (kRequest + kCode) + kSecret], input[kRoom];
  size_t unsent, have;
};

static long requests, errors;

static void all(int fd, void* bytes, size_t size, int sends) {
  for (char* at = bytes; size > 0;) {
    const ssize_t done = sends ? send(fd, at, size, MSG_NOSIGNAL) : recv(fd, at, size, 0);
    if (done <= 0) {
      fprintf(stderr, "ccs_sessions: a session ended\n");
      exit(1);
    }
    at += done;
    size -= (size_t)done;
  }
}

// ---- codes

static void make_secret(const struct plan* plan, const char* what, const unsigned char* hellos,
                        unsigned char* secret) {
  unsigned char text[128];
  const int size = snprintf((char*)text, sizeof text, "charmtree CCS session: %s", what);
  memcpy(text + size, hellos, 2 * kHello);
  if (HMAC(EVP_sha256(), plan->key, kKey, text, (size_t)size + 2 * kHello, secret, NULL) == NULL)
    give_up("ccs_sessions: HMAC");
}

static void begin_sealer(struct sealer* sealer, const unsigned char* secret) {
  sealer->hmac = HMAC_CTX_new();
  if (sealer->hmac == NULL || !HMAC_Init_ex(sealer->hmac, secret, kSecret, EVP_sha256(), NULL))
    give_up("ccs_sessions: HMAC");
}

static size_t code_size(const struct sealer* sealer) {
  return sealer->hmac != NULL ? kCode : 0;
}

static void make_code(struct sealer* sealer, const unsigned char* message, size_t size, unsigned char* code) {
  unsigned char number[8];
  put(number, (uint32_t)(sealer->messages >> 32));
  put(number + 4, (uint32_t)sealer->messages++);
  if (!HMAC_Init_ex(sealer->hmac, NULL, 0, NULL, NULL) || !HMAC_Update(sealer->hmac, number, sizeof number) ||
      !HMAC_Update(sealer->hmac, message, size) || !HMAC_Final(sealer->hmac, code, NULL))
    give_up("ccs_sessions: HMAC");
}

// ---- one session

static void open_session(struct session* s, const struct plan* plan) {
  unsigned char hellos[2 * kHello] = {0xC3, 'C', 'C', 'S', 1}, secret[kSecret];
  const int on = 1;
  s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (s->fd < 0 || connect(s->fd, (const struct sockaddr*)&plan->address, sizeof plan->address) != 0)
    give_up("ccs_sessions: connect");
  setsockopt(s->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  all(s->fd, hellos, kHello, 1);
  all(s->fd, hellos + kHello, kHello, 0);
  if (!plan->has_key) return;
  make_secret(plan, "the client has the key", hellos, secret);
  all(s->fd, secret, kSecret, 1);
  unsigned char proof[kSecret];
  make_secret(plan, "the server has the key", hellos, secret);
  all(s->fd, proof, kSecret, 0);
  if (memcmp(proof, secret, kSecret) != 0) {
    fprintf(stderr, "ccs_sessions: the server does not have the key\n");
    exit(1);
  }
  make_secret(plan, "to the server", hellos, secret);
  begin_sealer(&s->out, secret);
  make_secret(plan, "to the client", hellos, secret);
  begin_sealer(&s->in, secret);
}

static void ask(struct session* s) {
  unsigned char* at = s->output + s->unsent;
  memset(at, 0, kRequest);
  put(at, kRequest - 4);
  put(at + 4, s->number++);
  memcpy(at + 16, kHandler, sizeof kHandler);
  if (s->out.hmac != NULL) make_code(&s->out, at, kRequest, at + kRequest);
  s->unsent += kRequest + code_size(&s->out);
}

static void send_requests(struct session* s) {
  if (s->unsent > 0) all(s->fd, s->output, s->unsent, 1);
  s->unsent = 0;
}

/// A whole reply is at `at`.
static void check(struct session* s, const unsigned char* at, size_t size) {
  unsigned char code[kSecret];
  ++requests;
  int good = size >= kReplyHead && get(at + 8) == 0;
  if (s->in.hmac != NULL) {
    make_code(&s->in, at, size, code);
    good = good && memcmp(code, at + size, kCode) == 0;
  }
  errors += !good;
}

static void receive(struct session* s) {
  const ssize_t got = recv(s->fd, s->input + s->have, kRoom - s->have, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {
    fprintf(stderr, "ccs_sessions: a session ended\n");
    exit(1);
  }
  s->have += (size_t)got;
  size_t at = 0;
  while (s->have - at >= 4) {
    const size_t size = 4 + (size_t)get(s->input + at);
    if (size + kCode > kRoom) give_up("ccs_sessions: a reply is too long");
    if (s->have - at < size + code_size(&s->in)) break;
    check(s, s->input + at, size);
    at += size + code_size(&s->in);
    ask(s);
  }
  s->have -= at;
  memmove(s->input, s->input + at, s->have);
  send_requests(s);
}

static void run(const struct plan* plan, int count, double limit) {
  struct session* sessions = calloc((size_t)count, sizeof *sessions);
  const int loop = epoll_create1(EPOLL_CLOEXEC);
  if (sessions == NULL || loop < 0) give_up("ccs_sessions");
  for (int i = 0; i < count; ++i) {
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &sessions[i]};
    open_session(&sessions[i], plan);
    if (epoll_ctl(loop, EPOLL_CTL_ADD, sessions[i].fd, &event) != 0) give_up("ccs_sessions: epoll");
  }
  const double begin = now_s();
  for (int i = 0; i < count; ++i) {
    for (int k = 0; k < plan->depth; ++k) ask(&sessions[i]);
    send_requests(&sessions[i]);
  }
  while (now_s() < begin + limit) {
    struct epoll_event events[kEvents];
    const int ready = epoll_wait(loop, events, kEvents, 100);
    for (int i = 0; i < ready; ++i) receive(events[i].data.ptr);
  }
  printf("requests %ld seconds %.4f errors %ld\n", requests, now_s() - begin, errors);
}

static int usage(void) {
  fprintf(stderr,
          "usage: ccs_sessions [-c sessions] [-d requests under way in each] [-t seconds] [-k KEY] ADDRESS "
          "PORT\n");
  return 2;
}

int main(int argc, char** argv) {
  struct plan plan = {.address = {.sin_family = AF_INET}, .depth = 1};
  int option, count = 1;
  double limit = 1;
  while ((option = getopt(argc, argv, "c:d:t:k:")) != -1) {
    if (option == 'c') count = atoi(optarg);
    if (option == 'd') plan.depth = atoi(optarg);
    if (option == 't') limit = atof(optarg);
    if (option == 'k') {
      plan.has_key = 1;
      for (int i = 0; i < kKey; ++i)
        if (sscanf(optarg + 2 * i, "%2hhx", &plan.key[i]) != 1) return usage();
    }
    if (option == '?') return usage();
  }
  if (argc - optind != 2 || inet_pton(AF_INET, argv[optind], &plan.address.sin_addr) != 1 || count < 1 ||
      count > kMostSessions || plan.depth < 1 || plan.depth > kMostDepth || limit <= 0)
    return usage();
  plan.address.sin_port = htons((uint16_t)atoi(argv[optind + 1]));
  run(&plan, count, limit);
  return 0;
}
