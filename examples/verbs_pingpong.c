/* SPDX-License-Identifier: Apache-2.0 */
/* verbs_pingpong [best|ranges|on-demand|numbers] [TIMES] [BYTES]: processes 0 and 1, 2 and 3, ... send each
 * other a message of that size so often, over a queue pair of InfiniBand or RoCE, and say what one way takes.
 * `charmrun +p2 ./verbs_pingpong`, on hosts with such a device. */
#include <time.h>

#include "verbs_example.h"

enum { TIMES = 1000, BYTES = 8 };

static unsigned char* received;
static size_t bytes = BYTES;

static void made(ct_verbs* of, int peer, struct ibv_qp* queue_pair, void* argument) {
  (void)of, (void)argument;
  if (peer == (rank ^ 1)) post_receive(queue_pair, received, bytes, 0);
}

static void send_message(int peer, unsigned char* place, int number) {
  memset(place, number + rank, bytes);
  send_to(peer, place, bytes);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

int main(int argc, char** argv) {
  join();
  const int peer = rank ^ 1, times = argc > 2 ? atoi(argv[2]) : TIMES;
  if (argc > 3) bytes = (size_t)atoi(argv[3]);
  if (times < 1 || bytes < 1) fail("arguments", "a number of times and of bytes is at least 1");
  unsigned char* sent = begin(2 * bytes, 1, made);
  received = sent + bytes;
  connect_by(argc > 1 ? argv[1] : NULL);
  if (peer >= size) return end(NULL);

  double begun = 0;
  for (int i = 0; i <= times; ++i) {
    if (i == 1) begun = now(); /* the first one may have had to be connected */
    if (rank < peer) send_message(peer, sent, i);
    for (int done = 0; done < (rank < peer ? 2 : 1);)
      done += rank < peer ? (wait_for_one(), 1) : wait_for_one().opcode == IBV_WC_RECV;
    for (size_t k = 0; k < bytes; ++k)
      if (received[k] != (unsigned char)(i + peer)) fail("a message", "it is not what was sent");
    post_receive(ct_verbs_queue_pair(verbs, peer), received, bytes, 0);
    if (rank > peer) send_message(peer, sent, i); /* the last one is there: it has been answered */
  }
  if (rank > peer) return end(NULL);
  char text[128];
  snprintf(text, sizeof text, "rank %d and %d: %d times %zu bytes, %.2f us each way\n", rank, peer, times,
           bytes, (now() - begun) / times / 2 * 1e6);
  return end(text);
}
