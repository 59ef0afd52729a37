/* SPDX-License-Identifier: Apache-2.0 */
/* alltoall: each process sends its number to each other one, by UDP, at ports that the launchers have
 * reserved. charmrun +p4 ./alltoall */
#include <arpa/inet.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "charmtree.h"

enum { PATIENCE_MS = 10000 };

/* "what" went wrong: the others wait for us, so that is the end of the job. */
static int fail(ct_job* job, const char* what, const char* why) {
  char text[256];
  snprintf(text, sizeof text, "alltoall: %s: %s\n", what, why);
  ct_abort(job, 1, text);
  ct_finalize(job, 1);
  return 1;
}

static int send_to(ct_job* job, int fd, int rank, int number) {
  struct ct_peer peer;
  uint16_t port; /* in network byte order */
  if (ct_lookup(job, rank, &peer) < 0 || peer.size != sizeof port) return -1;
  memcpy(&port, peer.tuple, sizeof port);
  char service[6];
  snprintf(service, sizeof service, "%u", ntohs(port));
  int family;
  socklen_t length = sizeof family;
  getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &length);
  struct addrinfo hints = {.ai_family = family, .ai_socktype = SOCK_DGRAM}, *address;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_V4MAPPED; /* a socket of IPv6 reaches IPv4 by that */
  if (getaddrinfo(peer.address, service, &hints, &address) != 0) return -1;
  const ssize_t sent = sendto(fd, &number, sizeof number, 0, address->ai_addr, address->ai_addrlen);
  freeaddrinfo(address);
  return sent == sizeof number ? 0 : -1;
}

int main(void) {
  ct_job* job;
  const int joined = ct_init(&job);
  if (joined < 0) return fprintf(stderr, "alltoall: %s\n", ct_strerror(joined)), 1;
  const int rank = ct_rank(job), size = ct_size(job);
  uint16_t port;
  const int fd = ct_port(job, CT_UDP, &port);
  if (fd < 0) return fail(job, "port", ct_strerror(fd));
  port = htons(port);
  const int told = ct_register(job, &port, sizeof port);
  if (told < 0) return fail(job, "register", ct_strerror(told));

  for (int i = 0; i < size; ++i) { /* the first lookup waits until everybody has its port */
    if (send_to(job, fd, (rank + i) % size, rank) < 0)
      return fail(job, "send", "a process cannot be reached");
  }
  long sum = 0;
  for (int heard = 0; heard < size; ++heard) {
    struct pollfd readable = {.fd = fd, .events = POLLIN};
    int number;
    if (poll(&readable, 1, PATIENCE_MS) != 1 || recv(fd, &number, sizeof number, 0) != sizeof number)
      return fail(job, "receive", "a process is not heard");
    sum += number;
  }
  char line[128];
  snprintf(line, sizeof line, "process %d heard %d processes, their sum is %ld\n", rank, size, sum);
  ct_print(job, CT_STDOUT, line);
  return ct_finalize(job, 0) < 0;
}
