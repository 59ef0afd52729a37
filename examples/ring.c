/* SPDX-License-Identifier: Apache-2.0 */
/* ring [rounds]: every process opens a TCP port and tells it to the others, connects to the next one, and
 * passes a token on. Process 0 prints how long a hop takes. `./ring` alone is a ring of one; `charmrun +p4
 * ./ring 1000` one of four. */
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "charmtree.h"

static ct_job* job;

/* Ends the whole job: one process of a ring cannot go on without the others. */
static void fail(const char* what, const char* why) {
  char text[256];
  snprintf(text, sizeof text, "ring: %s: %s\n", what, why);
  if (job == NULL)
    fputs(text, stderr);
  else
    ct_abort(job, 1, text);
  exit(1);
}

static int check(int result, const char* what) { /* of ct_ functions */
  if (result < 0) fail(what, ct_strerror(result));
  return result;
}

static int check_sys(int result, const char* what) { /* of system calls */
  if (result < 0) {
    perror(what);
    fail(what, "failed");
  }
  return result;
}

/* A listening socket on a free port of any interface, of either family where there are two;
 * *port in network byte order. */
static int open_port(uint16_t* port) {
  union {
    struct sockaddr any;
    struct sockaddr_in ipv4;
    struct sockaddr_in6 ipv6;
  } address = {.ipv6 = {.sin6_family = AF_INET6}};
  socklen_t size = sizeof address.ipv6;
  int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) { /* a machine without IPv6 */
    address.ipv4 = (struct sockaddr_in){.sin_family = AF_INET};
    size = sizeof address.ipv4;
    fd = check_sys(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
  }
  int no = 0; /* that which stands for IPv4, too */
  if (address.any.sa_family == AF_INET6)
    check_sys(setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no), "setsockopt");
  check_sys(bind(fd, &address.any, size), "bind");
  check_sys(listen(fd, 4), "listen");
  check_sys(getsockname(fd, &address.any, &size), "getsockname");
  *port = address.any.sa_family == AF_INET ? address.ipv4.sin_port : address.ipv6.sin6_port;
  return fd;
}

static int connect_to(int rank) {
  struct ct_peer peer;
  check(ct_lookup(job, rank, &peer), "table");
  uint16_t port;
  if (peer.size != sizeof port) fail("table", "a process registered no port");
  memcpy(&port, peer.tuple, peer.size);
  char service[6];
  snprintf(service, sizeof service, "%u", ntohs(port));
  const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
  struct addrinfo* address;
  const int error = getaddrinfo(peer.address, service, &hints, &address);
  if (error != 0) fail("getaddrinfo", gai_strerror(error));
  int fd = check_sys(socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
  check_sys(connect(fd, address->ai_addr, address->ai_addrlen), "connect");
  freeaddrinfo(address);
  int yes = 1;
  check_sys(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes), "setsockopt");
  return fd;
}

static int count_hosts(void) {
  int hosts = 0, last = -1;
  for (int rank = 0; rank < ct_size(job); ++rank) { /* the ranks of a host are consecutive */
    struct ct_peer peer;
    check(ct_lookup(job, rank, &peer), "table");
    hosts += peer.host != last;
    last = peer.host;
  }
  return hosts;
}

static uint32_t receive(int fd) {
  uint32_t token;
  if (recv(fd, &token, sizeof token, MSG_WAITALL) != sizeof token)
    fail("receive", "the process before is gone");
  return ntohl(token);
}

static void send_token(int fd, uint32_t token) {
  token = htonl(token);
  if (send(fd, &token, sizeof token, MSG_NOSIGNAL) != sizeof token) fail("send", "the next process is gone");
}

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

int main(int argc, char** argv) {
  int rounds = argc > 1 ? atoi(argv[1]) : 100;
  if (rounds < 1) fail("usage", "ring [rounds], at least 1");

  check(ct_init(&job), "init");
  int rank = ct_rank(job), size = ct_size(job);

  uint16_t port;
  int listener = open_port(&port);
  check(ct_register(job, &port, sizeof port), "register");
  int next = connect_to((rank + 1) % size); /* waits for the table: then everybody listens */
  int previous = check_sys(accept(listener, NULL, NULL), "accept");
  check(ct_barrier(job), "barrier");

  double begin = now_us();
  uint32_t token = 0; /* counts hops */
  for (int round = 0; round < rounds; ++round) {
    if (rank > 0) token = receive(previous);
    send_token(next, token + 1);
    if (rank == 0) token = receive(previous);
  }
  double hops = (double)rounds * size;

  if (rank == 0) {
    if (token != (uint32_t)rounds * (uint32_t)size) fail("token", "went a wrong way");
    char line[128];
    snprintf(line, sizeof line, "ring: %d processes on %d hosts, %d rounds, %.1f us per hop\n", size,
             count_hosts(), rounds, (now_us() - begin) / hops);
    check(ct_print(job, CT_STDOUT, line), "print");
  }
  close(next);
  close(previous);
  close(listener);
  return check(ct_finalize(job, 0), "finalize");
}
