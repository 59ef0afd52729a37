/* SPDX-License-Identifier: Apache-2.0 */
/* What the examples of queue pairs have in common: joining, memory that the device knows, messages of one
 * size that are posted and waited for. */
#ifndef CHARMTREE_VERBS_EXAMPLE_H
#define CHARMTREE_VERBS_EXAMPLE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "charmtree_verbs.h"

static ct_job* job;
static int rank, size;
static ct_verbs* verbs;
static struct ibv_mr* memory;

static void fail(const char* what, const char* why) {
  char text[512];
  snprintf(text, sizeof text, "rank %d: %s: %s\n", rank, what, why);
  ct_abort(job, 1, text);
  exit(1);
}

static void join(void) {
  int error = ct_init(&job);
  if (error < 0) exit((fprintf(stderr, "ct_init: %s\n", ct_strerror(error)), 1));
  rank = ct_rank(job);
  size = ct_size(job);
}

/* Opens a device and registers so many bytes there, which are zero. `peers`: so many others will be used, 0:
 * all; `made` is told of each queue pair. */
static void* begin(size_t bytes, int peers, ct_verbs_made_function made) {
  struct ct_verbs_options options = {.peers = peers, .made = made};
  if (ct_verbs_open(job, &options, &verbs) < 0) fail("opening a device", ct_verbs_error(verbs));
  void* place = calloc(1, bytes);
  memory = place == NULL ? NULL : ibv_reg_mr(ct_verbs_domain(verbs), place, bytes, IBV_ACCESS_LOCAL_WRITE);
  if (memory == NULL) fail("memory", "there is none for messages");
  return place;
}

/* By the scheme of this name; null: the best. */
static void connect_by(const char* name) {
  static const char* const names[] = {
      [CT_VERBS_BEST] = "best",
      [CT_VERBS_RANGES] = "ranges",
      [CT_VERBS_ON_DEMAND] = "on-demand",
      [CT_VERBS_NUMBERS] = "numbers",
  };
  int scheme = CT_VERBS_BEST;
  for (int i = 0; name != NULL && i < (int)(sizeof names / sizeof *names); ++i)
    if (strcmp(name, names[i]) == 0) scheme = i;
  if (name != NULL && strcmp(name, names[scheme]) != 0)
    fail(name, "is no scheme: best, ranges, on-demand, numbers");
  if (ct_verbs_connect(verbs, scheme) < 0) fail("connecting", ct_verbs_error(verbs));
}

/* The next message of that queue pair goes to this place, and says `number` then. */
static void post_receive(struct ibv_qp* queue_pair, void* place, size_t bytes, uint64_t number) {
  struct ibv_sge piece = {(uintptr_t)place, (uint32_t)bytes, memory->lkey};
  struct ibv_recv_wr receive = {.wr_id = number, .sg_list = &piece, .num_sge = 1}, *bad;
  if (ibv_post_recv(queue_pair, &receive, &bad) != 0) fail("ibv_post_recv", "refused");
}

static void send_to(int peer, void* place, size_t bytes) {
  struct ibv_qp* queue_pair;
  if (ct_verbs_reach(verbs, peer, &queue_pair) < 0) fail("reaching another process", ct_verbs_error(verbs));
  struct ibv_sge piece = {(uintptr_t)place, (uint32_t)bytes, memory->lkey};
  struct ibv_send_wr send = {.sg_list = &piece, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad;
  send.send_flags = IBV_SEND_SIGNALED;
  if (ibv_post_send(queue_pair, &send, &bad) != 0) fail("ibv_post_send", "refused");
}

/* Waits for one message that was sent or received. Meanwhile others may want to reach this process. */
static struct ibv_wc wait_for_one(void) {
  enum { POLLS = 1000 };
  struct ibv_wc done;
  int found = 0;
  for (long polls = 1; found == 0; ++polls) {
    found = ibv_poll_cq(ct_verbs_completions(verbs), 1, &done);
    if (found == 0 && polls % POLLS == 0 && ct_progress(job) < 0) fail("the launcher", "is gone");
  }
  if (found < 0) fail("ibv_poll_cq", "failed");
  if (done.status != IBV_WC_SUCCESS) fail("a message", ibv_wc_status_str(done.status));
  return done;
}

/* Others may still wait for what this process has sent. */
static int end(const char* report) {
  if (report != NULL) ct_print(job, CT_STDOUT, report);
  ct_fence(job);
  void* place = memory->addr;
  ibv_dereg_mr(memory);
  ct_verbs_close(verbs);
  free(place);
  return ct_finalize(job, 0) < 0;
}

#endif
