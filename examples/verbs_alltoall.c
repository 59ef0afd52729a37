/* SPDX-License-Identifier: Apache-2.0 */
/* verbs_alltoall [best|ranges|on-demand|numbers]: every process sends each other one 64 bytes over a queue
 * pair of InfiniBand or RoCE, and checks what it gets. `charmrun +p4 ./verbs_alltoall`, on hosts with such a
 * device.
 */
#include "verbs_example.h"

enum { SIZE = 64 };

static unsigned char* received; /* SIZE of each process */

/* What `from` sends to `to`. */
static void fill(unsigned char* message, int from, int to) {
  for (int i = 0; i < SIZE; ++i) message[i] = (unsigned char)(from * 31 + to * 7 + i);
}

static void made(ct_verbs* of, int peer, struct ibv_qp* queue_pair, void* argument) {
  (void)of, (void)argument;
  post_receive(queue_pair, received + peer * SIZE, SIZE, 0);
}

int main(int argc, char** argv) {
  join();
  const size_t half = (size_t)size * SIZE;
  unsigned char want[SIZE], *to_send = begin(2 * half, 0, made);
  received = to_send + half;
  connect_by(argc > 1 ? argv[1] : NULL);

  for (int peer = 0; peer < size; ++peer) {
    fill(to_send + peer * SIZE, rank, peer);
    if (peer != rank) send_to(peer, to_send + peer * SIZE, SIZE);
  }
  for (int left = 2 * (size - 1); left > 0; --left) wait_for_one();
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
  return end(text);
}
