/* SPDX-License-Identifier: Apache-2.0 */
/* verbs_alltoall [ranges|numbers]: every process sends each other one 64 bytes over a queue pair of
 * InfiniBand or RoCE, and checks what it gets. `charmrun +p4 ./verbs_alltoall`, on hosts with such a device.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "charmtree_verbs.h"

enum { SIZE = 64 };

static ct_job* job;
static int rank, size;

static void fail(const char* what, const char* why) {
  char text[512];
  snprintf(text, sizeof text, "verbs_alltoall: rank %d: %s: %s\n", rank, what, why);
  ct_abort(job, 1, text);
  exit(1);
}

/* What `from` sends to `to`. */
static void fill(unsigned char* message, int from, int to) {
  for (int i = 0; i < SIZE; ++i) message[i] = (unsigned char)(from * 31 + to * 7 + i);
}

static void post(ct_verbs* verbs, int peer, struct ibv_mr* memory, unsigned char* to_send,
                 unsigned char* received) {
  struct ibv_sge piece = {(uintptr_t)received, SIZE, memory->lkey};
  struct ibv_recv_wr receive = {.wr_id = 0, .sg_list = &piece, .num_sge = 1}, *bad_receive;
  if (ibv_post_recv(ct_verbs_queue_pair(verbs, peer), &receive, &bad_receive) != 0)
    fail("ibv_post_recv", "refused");
  piece.addr = (uintptr_t)to_send;
  struct ibv_send_wr send = {.wr_id = 1,
                             .sg_list = &piece,
                             .num_sge = 1,
                             .opcode = IBV_WR_SEND,
                             .send_flags = IBV_SEND_SIGNALED},
                     *bad_send;
  if (ibv_post_send(ct_verbs_queue_pair(verbs, peer), &send, &bad_send) != 0)
    fail("ibv_post_send", "refused");
}

/* Until everything that was posted has been done. */
static void wait_for(ct_verbs* verbs, int count) {
  while (count > 0) {
    struct ibv_wc done;
    int found = ibv_poll_cq(ct_verbs_completions(verbs), 1, &done);
    if (found < 0) fail("ibv_poll_cq", "failed");
    if (found > 0 && done.status != IBV_WC_SUCCESS) fail("a message", ibv_wc_status_str(done.status));
    count -= found;
  }
}

int main(int argc, char** argv) {
  int error = ct_init(&job);
  if (error < 0) return fprintf(stderr, "verbs_alltoall: %s\n", ct_strerror(error)), 1;
  rank = ct_rank(job);
  size = ct_size(job);
  int scheme = argc > 1 && strcmp(argv[1], "numbers") == 0 ? CT_VERBS_NUMBERS : CT_VERBS_RANGES;
  ct_verbs* verbs;
  ct_verbs_open(job, NULL, &verbs);
  if (ct_verbs_connect(verbs, scheme) < 0) fail("connecting", ct_verbs_error(verbs));

  size_t half = (size_t)size * SIZE;
  unsigned char *to_send = calloc(2, half), *received = to_send + half, want[SIZE];
  struct ibv_mr* memory = ibv_reg_mr(ct_verbs_domain(verbs), to_send, 2 * half, IBV_ACCESS_LOCAL_WRITE);
  if (memory == NULL) fail("ibv_reg_mr", "refused");
  for (int peer = 0; peer < size; ++peer) {
    fill(to_send + peer * SIZE, rank, peer);
    if (peer != rank) post(verbs, peer, memory, to_send + peer * SIZE, received + peer * SIZE);
  }
  wait_for(verbs, 2 * (size - 1));
  for (int peer = 0; peer < size; ++peer) {
    fill(want, peer, rank);
    if (peer != rank && memcmp(want, received + peer * SIZE, SIZE) != 0)
      fail("a message", "it is not what was sent");
  }

  struct ct_verbs_costs costs;
  ct_verbs_costs_of(verbs, &costs);
  char text[256];
  snprintf(text, sizeof text,
           "rank %d: %d queue pairs in %d ranges; %llu requests, %llu bytes given, %llu taken; make %.4f s, "
           "exchange %.4f s, connect %.4f s\n",
           rank, costs.queue_pairs, costs.ranges, (unsigned long long)costs.requests,
           (unsigned long long)costs.bytes_given, (unsigned long long)costs.bytes_taken, costs.make,
           costs.exchange, costs.connect);
  ct_print(job, CT_STDOUT, text);
  ct_fence(job); /* others may still wait for ours */
  ibv_dereg_mr(memory);
  ct_verbs_close(verbs);
  free(to_send);
  return ct_finalize(job, 0) < 0;
}
