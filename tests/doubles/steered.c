/* SPDX-License-Identifier: Apache-2.0 */
/* steered: a native program with CCS handlers of every kind, until it is asked to stop. Rank 1 lacks the
 * handler "others", merges "torn" in another way, and replies to "uneven" with more than the others. `gone`
 * ends the process that is asked for it, with its exit status and before it has replied. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "charmtree.h"

static int over;
static uint32_t held[1024];
static int holds;

static void reply(ct_job* job, const struct ct_ccs_request* request, const void* data, size_t size) {
  if (ct_ccs_reply(job, request->id, data, size) != CT_OK) _exit(20);
}

static void echo(ct_job* job, const struct ct_ccs_request* request, void* argument) {
  (void)argument;
  reply(job, request, request->data, request->size);
}

static void rank(ct_job* job, const struct ct_ccs_request* request, void* argument) {
  (void)argument;
  const int32_t numbers[] = {ct_rank(job), 1};
  reply(job, request, numbers, sizeof numbers);
}

static void heat(ct_job* job, const struct ct_ccs_request* request, void* argument) {
  (void)argument;
  const double number = 10.5 - ct_rank(job);
  reply(job, request, &number, sizeof number);
}

static void uneven(ct_job* job, const struct ct_ccs_request* request, void* argument) {
  (void)argument;
  const int64_t numbers[] = {1, 2};
  reply(job, request, numbers, ct_rank(job) == 1 ? 16 : 8);
}

static void from(ct_job* job, const struct ct_ccs_request* request, void* argument) {
  (void)argument;
  reply(job, request, &request->ipv4, sizeof request->ipv4);
}

/* Replies when somebody asks for "release". */
static void hold(ct_job* job, const struct ct_ccs_request* request, void* argument) {
  (void)job;
  (void)argument;
  held[holds++] = request->id;
}

static void release(ct_job* job, const struct ct_ccs_request* request, void* argument) {
  (void)argument;
  while (holds > 0) {
    if (ct_ccs_reply(job, held[--holds], "late", 4) != CT_OK) _exit(21);
  }
  reply(job, request, "now", 3);
}

static void gone(ct_job* job, const struct ct_ccs_request* request, void* argument) {
  (void)job;
  (void)argument;
  char text[8] = "";
  memcpy(text, request->data, request->size < sizeof text ? request->size : sizeof text - 1);
  _exit(atoi(text));
}

static void stop(ct_job* job, const struct ct_ccs_request* request, void* argument) {
  (void)argument;
  over = 1;
  reply(job, request, NULL, 0);
}

int main(void) {
  ct_job* job;
  if (ct_init(&job) != CT_OK) return 10;
  const int torn = ct_rank(job) == 1 ? CT_CCS_MIN : CT_CCS_MAX;
  if (ct_ccs_register(job, "echo", CT_CCS_CONCAT, echo, NULL) != CT_OK ||
      ct_ccs_register(job, "rank", CT_CCS_SUM | CT_CCS_INT32, rank, NULL) != CT_OK ||
      ct_ccs_register(job, "least", CT_CCS_MIN | CT_CCS_DOUBLE, heat, NULL) != CT_OK ||
      ct_ccs_register(job, "most", CT_CCS_MAX | CT_CCS_DOUBLE, heat, NULL) != CT_OK ||
      ct_ccs_register(job, "torn", torn | CT_CCS_DOUBLE, heat, NULL) != CT_OK ||
      ct_ccs_register(job, "uneven", CT_CCS_SUM | CT_CCS_INT64, uneven, NULL) != CT_OK ||
      ct_ccs_register(job, "from", CT_CCS_MAX | CT_CCS_INT32, from, NULL) != CT_OK ||
      ct_ccs_register(job, "hold", CT_CCS_CONCAT, hold, NULL) != CT_OK ||
      ct_ccs_register(job, "release", CT_CCS_CONCAT, release, NULL) != CT_OK ||
      ct_ccs_register(job, "gone", CT_CCS_CONCAT, gone, NULL) != CT_OK ||
      ct_ccs_register(job, "stop", CT_CCS_CONCAT, stop, NULL) != CT_OK)
    return 11;
  if (ct_rank(job) != 1 && ct_ccs_register(job, "others", CT_CCS_CONCAT, echo, NULL) != CT_OK) return 12;
  if (ct_table(job) != CT_OK) return 13;
  while (!over) {
    const int served = ct_ccs_serve(job);
    if (served == CT_EENDED) return 0;
    if (served <= 0) return 14;
  }
  return ct_finalize(job, 0) == CT_OK ? 0 : 15;
}
