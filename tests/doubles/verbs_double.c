/* SPDX-License-Identifier: Apache-2.0 */
/* verbs_double SCHEME [NAME=NUMBER]...: connects all processes by queue pairs, and says how that went.
 *
 *   mtu=BYTES odd_mtu=BYTES   the MTU of all, or of those with an odd rank: this and no other
 *   device=N                  rxeN, instead of the nearest
 *   threads=N timeout=MS      that make queue pairs; ct_set_timeout, before connecting
 *   times=N                   opened, connected and closed so often
 *   odd_opens=N               processes with an odd rank have opened and closed it so often before
 *   peers=N                   that CT_VERBS_BEST is told of
 *   dies=R                    process R is killed when it has opened its port
 *   made=R                    ... when it has made a queue pair
 *   absent=R                  process R leaves without connecting
 *   killed=R                  ... when all are connected, and the others send to it */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client-lib/charmtree_verbs.h"

static int count;
static char** words;

static int number(const char* name, int otherwise) {
  for (int i = 2; i < count; ++i) {
    const size_t size = strlen(name);
    if (strncmp(words[i], name, size) == 0 && words[i][size] == '=') return atoi(words[i] + size + 1);
  }
  return otherwise;
}

static void say(ct_job* job, const char* what) {
  char text[600];
  snprintf(text, sizeof text, "rank %d: %s\n", ct_rank(job), what);
  ct_print(job, CT_STDOUT, text);
}

/* What becomes of a message to that process. */
static void send_to(ct_job* job, ct_verbs* verbs, int rank) {
  static char memory[64];
  struct ibv_mr* region = ibv_reg_mr(ct_verbs_domain(verbs), memory, sizeof memory, 0);
  struct ibv_sge piece = {(uintptr_t)memory, sizeof memory, region->lkey};
  struct ibv_send_wr *bad,
      send = {.sg_list = &piece, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
  struct ibv_wc done = {.status = IBV_WC_GENERAL_ERR};
  if (ibv_post_send(ct_verbs_queue_pair(verbs, rank), &send, &bad) == 0)
    while (ibv_poll_cq(ct_verbs_completions(verbs), 1, &done) == 0) continue;
  say(job, ibv_wc_status_str(done.status));
  ibv_dereg_mr(region);
}

static int scheme(void) {
  static const char* const names[] = {"best", "ranges", "on-demand", "numbers"};
  for (int i = 0; i < 4; ++i)
    if (strcmp(words[1], names[i]) == 0) return i;
  return 7;
}

static void made(ct_verbs* verbs, int rank, struct ibv_qp* queue_pair, void* job) {
  if (queue_pair == NULL || queue_pair->state != IBV_QPS_INIT || rank == ct_rank(job) || verbs == NULL)
    abort();
  if (number("made", -1) == ct_rank(job)) raise(SIGKILL);
}

/* All at a time, where the time-out of the job is 0. */
static int reach_all(ct_job* job, ct_verbs* verbs) {
  for (int left = 1; left > 0;) {
    left = 0;
    for (int rank = 0; rank < ct_size(job); ++rank) {
      struct ibv_qp* queue_pair = NULL;
      if (rank == ct_rank(job)) continue;
      const int error = ct_verbs_reach(verbs, rank, &queue_pair);
      if (error != CT_OK && error != CT_ETIMEDOUT) return error;
      if (error == CT_OK && queue_pair != ct_verbs_queue_pair(verbs, rank)) abort();
      left += error == CT_ETIMEDOUT;
    }
  }
  return CT_OK;
}

static int connect_once(ct_job* job) {
  const int rank = ct_rank(job);
  struct ct_verbs_options options = {.mtu = number("mtu", rank % 2 == 1 ? number("odd_mtu", 0) : 0)};
  options.threads = number("threads", 0);
  if (number("device", -1) >= 0) {
    static char name[16];
    snprintf(name, sizeof name, "rxe%d", number("device", 0));
    options.device = name;
  }
  options.peers = number("peers", 0);
  options.made = made;
  options.argument = job;
  ct_verbs* verbs;
  for (int i = rank % 2 == 1 ? number("odd_opens", 0) : 0; i > 0; --i)
    if (ct_verbs_open(job, &options, &verbs) != CT_OK || ct_verbs_close(verbs) != CT_OK) return CT_EVERBS;
  ct_verbs_open(job, &options, &verbs);
  if (number("dies", -1) == rank) raise(SIGKILL);
  ct_set_timeout(job, number("timeout", CT_FOREVER));
  if (number("absent", -1) == rank) return ct_verbs_close(verbs), CT_OK;
  int error = ct_verbs_connect(verbs, scheme());
  if (error == CT_OK) error = reach_all(job, verbs);
  ct_set_timeout(job, CT_FOREVER);
  say(job, error == CT_OK ? "connected" : ct_verbs_error(verbs));
  const int killed = number("killed", -1);
  if (error == CT_OK && killed >= 0) {
    ct_barrier(job); /* all are connected */
    if (killed == rank) raise(SIGKILL);
    while (ct_alive(job, killed)) ct_barrier(job);
    send_to(job, verbs, killed);
  }
  if (number("absent", -1) < 0) ct_barrier(job); /* others may not have reached this one */
  ct_verbs_close(verbs);
  return error;
}

int main(int argc, char** argv) {
  count = argc;
  words = argv;
  ct_job* job;
  if (argc < 2 || ct_init(&job) < 0 || ct_table(job) < 0) return 2;
  int error = CT_OK;
  for (int i = number("times", 1); i > 0 && error == CT_OK; --i) error = connect_once(job);
  const int left = ct_finalize(job, 0);
  return left == CT_OK ? 0 : 3;
}
