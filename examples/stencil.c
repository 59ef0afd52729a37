/* SPDX-License-Identifier: Apache-2.0 */
/* stencil: processes on a torus of two dimensions; in each step each becomes the sum of its four neighbours.
 * Nobody needs to know more than these: their ports are asked for. charmrun +p12 ./stencil 5 */
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "charmtree.h"

enum { SIDES = 4, PATIENCE_MS = 10000 };
static void fail(ct_job* job, const char* what, const char* why) {
  char text[256];
  snprintf(text, sizeof text, "stencil: %s: %s\n", what, why);
  ct_abort(job, 1, text);
  exit(1);
}

/* From now on `fd` sends to that process by `to`. */
static void find(ct_job* job, int fd, int rank, struct addrinfo** to) {
  struct ct_peer peer;
  const void* port;
  size_t size;
  char service[8];
  if (ct_ask(job, rank, "port", &port, &size) < 0 || ct_lookup(job, rank, &peer) < 0)
    fail(job, "a neighbour", "is not known"); /* its host's address is in the table anyway */
  snprintf(service, sizeof service, "%.*s", (int)size, (const char*)port);
  int family;
  socklen_t length = sizeof family;
  getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &length);
  struct addrinfo hints = {.ai_family = family, .ai_socktype = SOCK_DGRAM};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_V4MAPPED; /* a socket of IPv6 reaches IPv4 by that */
  if (getaddrinfo(peer.address, service, &hints, to) != 0) fail(job, "a neighbour", "has no address");
}

int main(int argc, char** argv) {
  ct_job* job;
  const int joined = ct_init(&job), steps = argc > 1 ? atoi(argv[1]) : 1;
  if (joined < 0) return fprintf(stderr, "stencil: %s\n", ct_strerror(joined)), 1;
  const int rank = ct_rank(job), size = ct_size(job);
  int rows = 1;
  for (int i = 1; i * i <= size; ++i) rows = size % i == 0 ? i : rows;
  const int columns = size / rows, row = rank / columns, column = rank % columns;

  uint16_t number;
  char port[8], line[128];
  const int fd = ct_port(job, CT_UDP, &number);
  if (fd < 0) fail(job, "port", ct_strerror(fd));
  snprintf(port, sizeof port, "%u", (unsigned)number);
  ct_offer(job, "port", port, strlen(port));
  struct addrinfo* to[SIDES]; /* above, below, left, right */
  find(job, fd, (row + rows - 1) % rows * columns + column, &to[0]);
  find(job, fd, (row + 1) % rows * columns + column, &to[1]);
  find(job, fd, row * columns + (column + columns - 1) % columns, &to[2]);
  find(job, fd, row * columns + (column + 1) % columns, &to[3]);

  long value = rank, sums[2] = {0, 0}; /* of this step, and of the next: a neighbour may be one ahead */
  for (int step = 0, heard[2] = {0, 0}; step < steps; ++step) {
    for (int side = 0; side < SIDES; ++side) {
      const long edge[2] = {step, value};
      sendto(fd, edge, sizeof edge, 0, to[side]->ai_addr, to[side]->ai_addrlen);
    }
    while (heard[step % 2] < SIDES) {
      struct pollfd readable = {.fd = fd, .events = POLLIN};
      long edge[2];
      if (poll(&readable, 1, PATIENCE_MS) != 1 || recv(fd, edge, sizeof edge, 0) != sizeof edge)
        fail(job, "receive", "a neighbour is not heard");
      sums[edge[0] % 2] += edge[1];
      ++heard[edge[0] % 2];
    }
    value = sums[step % 2];
    sums[step % 2] = heard[step % 2] = 0;
  }
  snprintf(line, sizeof line, "process %d: %ld, knows %d of %d\n", rank, value, ct_peers(job), size);
  ct_print(job, CT_STDOUT, line);
  return ct_finalize(job, 0) < 0;
}
