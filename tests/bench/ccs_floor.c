// SPDX-License-Identifier: Apache-2.0
//
// The floor under any CCS server: accepts, reads a request, answers with 8 bytes and closes. It looks at
// nothing else and asks nobody, unless `hop` says that each request goes to a second process and the answer
// comes from there, as it must in a launcher. With `sessions` its clients keep their connections, as those of
// ccs_sessions.c do without a key.
//
//   cc -O2 -I../.. -o ccs_floor ccs_floor.c
//   ccs_floor [hop | sessions]
//
// Listens on 127.0.0.1, prints its port, and ends when its standard input does.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/bench/bench.h"

enum { kRequest = 40, kReply = 12, kEvents = 256, kBacklog = 4096, kMostFiles = 20000, kHop = 128 };

static int loop, listener;
static int other = -1;             // the second process
static unsigned have[kMostFiles];  // bytes of its request, by descriptor
static char hops[kEvents * kHop];  // to the second process, sent once all events have been seen
static size_t hops_size;

static void watch(int fd) {
  struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
  if (epoll_ctl(loop, EPOLL_CTL_ADD, fd, &event) != 0) give_up("ccs_floor: epoll");
}

static void take_connections(void) {
  int fd;
  while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
    if (fd >= kMostFiles) {
      close(fd);
      continue;
    }
    have[fd] = 0;
    watch(fd);
  }
}

static void answer(int fd) {
  static const char reply[kReply] = {0, 0, 0, kReply - 4};
  if (send(fd, reply, kReply, MSG_NOSIGNAL) < 0 && errno != EPIPE && errno != ECONNRESET)
    give_up("ccs_floor: send");
  close(fd);
}

static void take_request(int fd) {
  char bytes[kRequest];
  const ssize_t got = recv(fd, bytes, sizeof bytes, 0);
  if (got == 0 || (got < 0 && errno != EAGAIN)) close(fd);
  if (got <= 0) return;
  have[fd] += (unsigned)got;
  if (have[fd] < kRequest) return;
  if (other < 0) {
    answer(fd);
    return;
  }
  epoll_ctl(loop, EPOLL_CTL_DEL, fd, NULL);  // nothing more comes
  memset(hops + hops_size, 0, kHop);
  memcpy(hops + hops_size, &fd, sizeof fd);
  hops_size += kHop;
}

static void send_all(int fd, const char* bytes, size_t size) {
  while (size > 0) {
    const ssize_t sent = send(fd, bytes, size, MSG_NOSIGNAL);
    if (sent <= 0) give_up("ccs_floor: hop");
    bytes += sent;
    size -= (size_t)sent;
  }
}

static void take_answers(void) {
  static char bytes[kEvents * kHop];
  static size_t size;
  const ssize_t got = recv(other, bytes + size, sizeof bytes - size, MSG_DONTWAIT);
  if (got <= 0) return;
  size += (size_t)got;
  size_t at = 0;
  for (; size - at >= kHop; at += kHop) {
    int fd;
    memcpy(&fd, bytes + at, sizeof fd);
    answer(fd);
  }
  memmove(bytes, bytes + at, size - at);
  size -= at;
}

// Hello for hello, and then a reply for each request that is whole.
static void serve_session(int fd) {
  enum { kHello = 24, kMessage = 48, kAnswer = 20, kRoom = 1 << 16 };
  static unsigned char rest[kMostFiles][kMessage];
  static unsigned char greeted[kMostFiles], bytes[kMessage + kRoom], replies[kRoom];
  memcpy(bytes, rest[fd], have[fd]);
  const ssize_t got = recv(fd, bytes + have[fd], kRoom, 0);
  if (got == 0 || (got < 0 && errno != EAGAIN)) {
    close(fd);
    have[fd] = greeted[fd] = 0;
  }
  if (got <= 0) return;
  const size_t size = have[fd] + (size_t)got;
  size_t at = 0, made = 0;
  if (!greeted[fd] && size >= kHello) {
    memset(replies, 0, kHello);
    greeted[fd] = 1;
    at = made = kHello;
  }
  for (; greeted[fd] && size - at >= kMessage; at += kMessage, made += kAnswer) {
    memset(replies + made, 0, kAnswer);
    replies[made + 3] = kAnswer - 4;
    memcpy(replies + made + 4, bytes + at + 4, 4);
  }
  have[fd] = (unsigned)(size - at);
  memcpy(rest[fd], bytes + at, have[fd]);
  if (made > 0) send_all(fd, (const char*)replies, made);
}

__attribute__((noreturn)) static void echo(int fd) {
  static char bytes[kEvents * kHop];
  for (ssize_t got; (got = recv(fd, bytes, sizeof bytes, 0)) > 0;) send_all(fd, bytes, (size_t)got);
  _exit(0);
}

static void start_other(void) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) give_up("ccs_floor: socketpair");
  const pid_t child = fork();
  if (child < 0) give_up("ccs_floor: fork");
  close(pair[child == 0 ? 0 : 1]);
  if (child == 0) {
    close(0);
    close(1);
    echo(pair[1]);
  }
  other = pair[0];
}

int main(int argc, char** argv) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  const int hop = argc == 2 && strcmp(argv[1], "hop") == 0;
  const int sessions = argc == 2 && strcmp(argv[1], "sessions") == 0;
  if (argc > 1 && !hop && !sessions) return fputs("usage: ccs_floor [hop | sessions]\n", stderr), 2;
  if (hop) start_other();
  loop = epoll_create1(EPOLL_CLOEXEC);
  listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (loop < 0 || listener < 0 || bind(listener, (struct sockaddr*)&address, size) != 0 ||
      listen(listener, kBacklog) != 0 || getsockname(listener, (struct sockaddr*)&address, &size) != 0)
    give_up("ccs_floor: listen");
  watch(listener);
  watch(STDIN_FILENO);
  if (other >= 0) watch(other);
  printf("%d\n", ntohs(address.sin_port));
  fflush(stdout);
  for (;;) {
    struct epoll_event events[kEvents];
    const int count = epoll_wait(loop, events, kEvents, -1);
    for (int i = 0; i < count; ++i) {
      const int fd = events[i].data.fd;
      if (fd == STDIN_FILENO) return 0;
      if (fd == listener)
        take_connections();
      else if (fd == other)
        take_answers();
      else if (sessions)
        serve_session(fd);
      else
        take_request(fd);
    }
    if (hops_size > 0) send_all(other, hops, hops_size);
    hops_size = 0;
  }
}
