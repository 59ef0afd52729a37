/* SPDX-License-Identifier: Apache-2.0 */
/* charmtree_verbs.h: the processes of a job connected by reliable queue pairs of InfiniBand or RoCE, for C
 * and C++. What is sent by them is the program's own affair, with libibverbs.
 *
 *     ct_verbs *verbs;
 *     ct_verbs_open(job, NULL, &verbs);                       a port of a device of this host
 *     if (ct_verbs_connect(verbs, CT_VERBS_BEST) < 0)         by all processes
 *       fail(ct_verbs_error(verbs));
 *     memory = ibv_reg_mr(ct_verbs_domain(verbs), ...);
 *     if (ct_verbs_reach(verbs, rank, &queue_pair) < 0)       that can be sent to from now on
 *       fail(ct_verbs_error(verbs));
 *     ibv_post_send(queue_pair, ...);
 *     ibv_poll_cq(ct_verbs_completions(verbs), ...);
 *     ct_verbs_close(verbs);
 *
 * Link with -lcharmtree_verbs -lcharmtree -libverbs. Functions return as those of charmtree.h do; CT_EVERBS:
 * a device has refused, and ct_verbs_error says which, what and why. While ct_verbs_connect
 * lasts there are more threads, each on any processor that this process may have. In a child of fork nothing
 * of this can be used (CT_EFORK). */
#ifndef CHARMTREE_VERBS_H
#define CHARMTREE_VERBS_H

#include <infiniband/verbs.h>

#include "charmtree.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ct_verbs ct_verbs;

/* `queue_pair`, for `rank`, has been made: now is the time to post what it is to receive, before that process
 * can send. If it cannot be connected then, it is gone. The function returns: no exception, no longjmp; and
 * calls nothing of charmtree.h or of this header. */
typedef void (*ct_verbs_made_function)(ct_verbs* verbs, int rank, struct ibv_qp* queue_pair, void* argument);

/* What may be chosen; 0 or null is what is best for most. */
struct ct_verbs_options {
  const char* device;         /* such as "mlx5_0"; null: of those with an active port the one that is nearest
                                 to the processors of this process, by NUMA distance */
  int port;                   /* of it; 0: the first that is active */
  int has_gid, gid;           /* has_gid 1: the GID of this index; 0: the one that reaches farthest */
  int mtu;                    /* 256 ... 4096: this one and no other; 0: the most that both ports can */
  int threads;                /* that make queue pairs; 0: as many as help */
  int completions;            /* that the queue for them holds; 0: all that can be outstanding, or as many as
                                 the device can */
  int peers;                  /* so many others this process is going to send to or to receive from; 0: all.
                                 For CT_VERBS_BEST, and for how many completions can be outstanding */
  struct ibv_qp_cap capacity; /* of a queue pair; 0 each: 16 to send and 16 to receive, of one piece each */
  ct_verbs_made_function made;
  void* argument; /* of that */
};

/* Opens a port of a device for this process, and stores what belongs to it in *verbs, to be closed by
 * ct_verbs_close before ct_finalize; null only if job or verbs is, or after CT_ENOMEM. After another error
 * ct_verbs_connect tells the others that this process cannot be connected, and returns the same. */
CT_API int ct_verbs_open(ct_job* job, const struct ct_verbs_options* options, ct_verbs** verbs);

/* How the queue pairs of processes come together.
 *
 * CT_VERBS_BEST: as one of the next two. With all at once, where each process is going to use half of the
 * others or more, and devices have queue pairs enough for that; else on demand. The processes agree on it by
 * an allgather.
 *
 * CT_VERBS_RANGES: with all at once. The processes of a host make theirs one after the other, so that the
 * numbers of one follow each other, and what it tells are a few ranges.
 *
 * CT_VERBS_ON_DEMAND: with each when it is used first (ct_verbs_reach), by a message to that process through
 * the launchers, and one back. Nothing is done before, and nobody waits for anybody.
 *
 * CT_VERBS_NUMBERS: with all at once, each number by itself, given and asked for, as libraries do that have
 * PMI alone. It is there to be compared, takes at most CT_MAX_OFFERS + 1 processes, and one of the
 * CT_MAX_OFFERS of each for each other one. */
enum { CT_VERBS_BEST = 0, CT_VERBS_RANGES = 1, CT_VERBS_ON_DEMAND = 2, CT_VERBS_NUMBERS = 3 };

/* Connects this process with others of the job, which all call it by the same scheme, once for each
 * ct_verbs_open and in one order. With all at once: all may send afterwards. Waits for them, whatever
 * ct_set_timeout has said, in up to three fences at a time (CT_MAX_FENCES) with CT_MAX_GIVEN bytes. If one of
 * them cannot be connected, all return an error, CT_EFAILED where it is another one's, and nothing is
 * connected. After an error of charmtree.h, such as CT_ELOST or CT_EORDER, the others may still wait, until
 * this process ends. */
CT_API int ct_verbs_connect(ct_verbs* verbs, int scheme);

/* Stores the queue pair with that process, which can be sent to from now on. On demand it may have to be
 * connected, or the other one asked whether it has done so: waits for that, where CT_ETIMEDOUT means that it
 * is to be called again, until it returns something else; with a time-out of 0 several are connected at a
 * time. The other process does its part while it is in ct_progress, ct_verbs_reach, or another call where
 * losses are told (ct_on_loss): one that waits for completions calls ct_progress now and then. Both may begin
 * at once. CT_EFAILED, CT_EVERBS: one of the two could not, or the other one is lost, or has ended; so it
 * stays. It takes one of the CT_MAX_LISTENERS of ct_on_ask, and up to half of CT_MAX_ASKS. Where a process
 * is started again (++on-failure restart) nobody is connected with it anew: calls that need that fail, or
 * wait until the other process ends. */
CT_API int ct_verbs_reach(ct_verbs* verbs, int rank, struct ibv_qp** queue_pair);

/* Connected with that process, perhaps because that has reached this one: it can receive, and sends once
 * ct_verbs_reach has said so. Null: there is none. It belongs to `verbs`, as the others here do. */
CT_API struct ibv_qp* ct_verbs_queue_pair(const ct_verbs* verbs, int rank);
/* The protection domain in which queue pairs are made; memory is registered with it. */
CT_API struct ibv_pd* ct_verbs_domain(const ct_verbs* verbs);
/* Of all queue pairs, for what is sent and for what is received. */
CT_API struct ibv_cq* ct_verbs_completions(const ct_verbs* verbs);

/* What connecting has taken of this process. */
struct ct_verbs_costs {
  int queue_pairs, ranges;        /* made; of their numbers */
  uint64_t requests;              /* to the launcher */
  uint64_t bytes_given;           /* by this process, to be told to others */
  uint64_t bytes_taken;           /* that it was told */
  double make, exchange, connect; /* seconds: making queue pairs, with the wait for its turn; telling numbers;
                                     bringing queue pairs to where they can send */
};
CT_API int ct_verbs_costs_of(const ct_verbs* verbs, struct ct_verbs_costs* costs);

/* What the last error was, in a line, with the device, the port, the peer and what the system said; "" if
 * there was none. Belongs to `verbs`. */
CT_API const char* ct_verbs_error(const ct_verbs* verbs);

/* Releases everything, in the reverse order. What the program has made with the device, such as memory
 * regions, is to be released before. On demand, others that reach for this process from now on wait until it
 * ends: it is for when they are done with it, behind a ct_fence or ct_barrier; and what this one has asked
 * and not heard stays one of its CT_MAX_ASKS. Not in a function that charmtree.h or this header calls. */
CT_API int ct_verbs_close(ct_verbs* verbs);

#ifdef __cplusplus
}
#endif

#endif /* CHARMTREE_VERBS_H */
