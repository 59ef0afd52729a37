/* SPDX-License-Identifier: Apache-2.0 */
/* ports_double [dies]: each process listens on the socket that its launcher has bound, tells its port,
 * connects to all, itself among them, and hears one byte of each; what is not as it should be ends the job.
 * With a word the last process kills itself when it has its table, once, and the others wait for the one that
 * comes after it. */
#include <arpa/inet.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client-lib/charmtree.h"

#define REQUIRE(condition)                                                       \
  do {                                                                           \
    if (!(condition)) return (fprintf(stderr, "%s is not so\n", #condition), 1); \
  } while (0)

static ct_job* job;

static int take_newer_table(ct_job* of, const int* ranks, int count, void* argument) {
  (void)ranks, (void)count, (void)argument;
  return ct_table(of) != CT_OK;
}

/* True: it is connected to this process and has told it `rank`. The connection stays. */
static int greet(int peer_rank, unsigned char rank) {
  struct ct_peer peer;
  struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM}, *found;
  uint16_t port;
  char service[8];
  if (ct_lookup(job, peer_rank, &peer) != CT_OK || peer.size != sizeof port) return 0;
  memcpy(&port, peer.tuple, sizeof port);
  snprintf(service, sizeof service, "%d", ntohs(port));
  if (getaddrinfo(peer.address, service, &hints, &found) != 0) return 0;
  const int fd = socket(found->ai_family, SOCK_STREAM, 0);
  const int good = connect(fd, found->ai_addr, found->ai_addrlen) == 0 && write(fd, &rank, 1) == 1;
  freeaddrinfo(found);
  return good;
}

/* True: so many have connected, each of them once. */
static int hear_all(int listener, int count) {
  unsigned char* heard = calloc((size_t)count, 1);
  int good = heard != NULL;
  for (int i = 0; i < count && good; ++i) {
    unsigned char rank;
    const int fd = accept(listener, NULL, NULL);
    good = fd >= 0 && read(fd, &rank, 1) == 1 && rank < count && !heard[rank]++;
    close(fd);
  }
  free(heard);
  return good;
}

int main(int argc, char** argv) {
  (void)argv;
  uint16_t tcp, udp;
  REQUIRE(ct_init(&job) == CT_OK && ct_on_restart(job, take_newer_table, NULL) == CT_OK);
  const int rank = ct_rank(job), size = ct_size(job);
  const int listener = ct_port(job, CT_TCP, &tcp);
  REQUIRE(listener >= 0 && ct_port(job, CT_UDP, &udp) >= 0);
  REQUIRE(listen(listener, size) == 0);
  const uint16_t tuple = htons(tcp);
  REQUIRE(ct_register(job, &tuple, sizeof tuple) == CT_OK && ct_table(job) == CT_OK);
  if (argc > 1 && rank == size - 1 && ct_restarts(job) == 0) raise(SIGKILL);
  REQUIRE(ct_barrier(job) == CT_OK);
  for (int peer = 0; peer < size; ++peer) REQUIRE(greet(peer, (unsigned char)rank));
  REQUIRE(hear_all(listener, size));
  struct ct_peer self;
  REQUIRE(ct_lookup(job, rank, &self) == CT_OK);
  printf("%d %d %d %d %d %d\n", rank, self.host, ct_local_rank(job), tcp, udp, ct_restarts(job));
  return ct_finalize(job, 0);
}
