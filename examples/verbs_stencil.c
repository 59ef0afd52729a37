/* SPDX-License-Identifier: Apache-2.0 */
/* verbs_stencil [best|ranges|on-demand|numbers] [STEPS]: processes on a torus of three dimensions; in each
 * step each becomes the sum of its six neighbours, which send it their values over queue pairs of InfiniBand
 * or RoCE. On demand there are as many as it has neighbours. `charmrun +p27 ./verbs_stencil on-demand`, on
 * hosts with such a device. */
#include "verbs_example.h"

enum { DIMENSIONS = 3, SIDES = 2 * DIMENSIONS, STEPS = 5, SLOTS = 2 * SIDES };

/* What one sends the other in a step. */
struct edge {
  long step, value;
};

static int neighbours[SIDES];         /* by side: one down, and one up in each dimension */
static struct edge* received;         /* SLOTS for each process that sends to us */
static struct ibv_qp* holders[SIDES]; /* of the slots */

/* As even as can be: the number of processes in each dimension. */
static void spread(int count, int extents[DIMENSIONS]) {
  for (int dimension = 0; dimension < DIMENSIONS; ++dimension) {
    int best = 1;
    for (int i = 1; i <= count; ++i) {
      int power = 1;
      for (int k = dimension; k < DIMENSIONS; ++k) power *= i;
      if (count % i == 0 && power <= count) best = i;
    }
    extents[dimension] = best;
    count /= best;
  }
  extents[DIMENSIONS - 1] *= count;
}

static int neighbour(const int extents[DIMENSIONS], int side) {
  int place[DIMENSIONS], rest = rank, found = 0;
  for (int i = 0; i < DIMENSIONS; ++i) {
    place[i] = rest % extents[i];
    rest /= extents[i];
  }
  const int moved = side / 2;
  place[moved] = (place[moved] + (side % 2 == 0 ? extents[moved] - 1 : 1)) % extents[moved];
  for (int i = DIMENSIONS - 1; i >= 0; --i) found = found * extents[i] + place[i];
  return found;
}

/* The first side by which that process is reached. */
static int side_of(int peer) {
  for (int side = 0; side < SIDES; ++side)
    if (neighbours[side] == peer) return side;
  return -1;
}

static void made(ct_verbs* of, int peer, struct ibv_qp* queue_pair, void* argument) {
  (void)of, (void)argument;
  const int side = side_of(peer);
  if (side < 0) return; /* with all at once there are others, too */
  holders[side] = queue_pair;
  for (int slot = side * SLOTS; slot < (side + 1) * SLOTS; ++slot)
    post_receive(queue_pair, &received[slot], sizeof *received, (uint64_t)slot);
}

int main(int argc, char** argv) {
  join();
  const int steps = argc > 2 ? atoi(argv[2]) : STEPS;
  int extents[DIMENSIONS], others = 0;
  spread(size, extents);
  for (int side = 0; side < SIDES; ++side) neighbours[side] = neighbour(extents, side);
  for (int side = 0; side < SIDES; ++side)
    others += neighbours[side] != rank && side_of(neighbours[side]) == side;
  struct edge* sent = begin((SIDES * SLOTS + 2 * SIDES) * sizeof *sent, others > 0 ? others : 1, made);
  received = sent + 2 * SIDES;
  connect_by(argc > 1 ? argv[1] : NULL);

  long value = rank, sums[2] = {0, 0}; /* of this step, and of the next: a neighbour may be one ahead */
  int heard[2] = {0, 0}, unsent = 0;
  for (long step = 0; step < steps; ++step) {
    for (int side = 0; side < SIDES; ++side) {
      struct edge* edge = &sent[step % 2 * SIDES + side];
      *edge = (struct edge){step, value};
      if (neighbours[side] == rank) {
        sums[step % 2] += value;
        ++heard[step % 2];
      } else {
        send_to(neighbours[side], edge, sizeof *edge);
        ++unsent;
      }
    }
    while (heard[step % 2] < SIDES || unsent > 0) {
      const struct ibv_wc done = wait_for_one();
      if (done.opcode != IBV_WC_RECV) {
        --unsent;
        continue;
      }
      const struct edge edge = received[done.wr_id];
      if (edge.step < step || edge.step > step + 1) fail("a message", "is of another step");
      sums[edge.step % 2] += edge.value;
      ++heard[edge.step % 2];
      post_receive(holders[done.wr_id / SLOTS], &received[done.wr_id], sizeof edge, done.wr_id);
    }
    value = sums[step % 2];
    sums[step % 2] = heard[step % 2] = 0;
  }
  struct ct_verbs_costs costs;
  ct_verbs_costs_of(verbs, &costs);
  char text[128];
  snprintf(text, sizeof text, "rank %d: %ld after %d steps, %d neighbours, %d queue pairs\n", rank, value,
           steps, others, costs.queue_pairs);
  return end(text);
}
