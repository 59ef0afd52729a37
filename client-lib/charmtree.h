/* SPDX-License-Identifier: Apache-2.0 */
/* charmtree.h: what a parallel program needs from its launcher, for C and C++. Who am I among how many, what
 * must the others know to reach me (my tuple), what did they say (the table), a barrier, text for the user,
 * and a common end. Data between processes is the program's own affair: the tuples tell where to connect.
 *
 *     ct_job *job;
 *     if (ct_init(&job) < 0) ...                      join; alone, without charmrun: a job of one
 *     listen(ct_port(job, CT_TCP, &my_port), 64);     a socket bound to a port of ours
 *     ct_register(job, &my_port, sizeof my_port);     what the others must know
 *     ct_lookup(job, peer, &who);                     waits for everybody, then as often as you like
 *     ct_barrier(job);
 *     ct_finalize(job, 0);                            everybody is done
 *
 * Errors. Functions that return int return 0, or the non-negative number that was asked for, or one of the
 * negative CT_E... values below. A null job or a null pointer for a result is CT_EINVAL. An error changes
 * nothing unless its function says otherwise; CT_ENOMEM, CT_ELOST, CT_EPROTO and CT_EENDED are final: every
 * later call that needs the launcher returns the same. errno has no meaning after any of them.
 *
 * Waiting. ct_init, ct_port, ct_topology, ct_register, ct_table, ct_lookup, ct_barrier, ct_fence, ct_wait,
 * ct_ask, ct_print, ct_ccs_register, ct_ccs_serve, ct_ccs_reply, ct_abort and ct_finalize may wait. All but
 * ct_init give up with CT_ETIMEDOUT after the time set by ct_set_timeout (a new job: never), and may be
 * called again to go on waiting: a process that is in a barrier stays in it. A time-out of 0 polls.
 *
 * What the library leaves alone. It never ends the program, prints nothing of its own, handles no signal (nor
 * raises SIGPIPE), starts no thread, changes no environment, and opens one descriptor, with close-on-exec,
 * and one for each ct_port, which is the program's.
 *
 * Threads. A job may be used by any thread, but by one at a time.
 *
 * fork. A job belongs to the process that called ct_init. In a child of fork every call returns CT_EFORK and
 * does nothing; only ct_finalize also frees the child's copy of the job. A child that goes on to exec needs
 * to do nothing at all. */
#ifndef CHARMTREE_H
#define CHARMTREE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CT_API __attribute__((visibility("default")))

typedef struct ct_job ct_job;

enum {
  CT_OK = 0,
  CT_EINVAL = -1,    /* an argument is out of its range */
  CT_ENOMEM = -2,    /* no memory */
  CT_EENV = -3,      /* one of CHARMTREE_SOCKET, CHARMTREE_PROCESS is missing or malformed */
  CT_ECONNECT = -4,  /* the launcher's socket cannot be reached */
  CT_EREFUSED = -5,  /* by the launcher: this process has joined before, or the versions differ */
  CT_ETIMEDOUT = -6, /* not done in time; may be called again */
  CT_ELOST = -7,     /* the connection to the launcher is gone: so is, most likely, the job */
  CT_EPROTO = -8,    /* the launcher said something that makes no sense: final */
  CT_EENDED = -9,    /* the job has ended, or this process has asked for its end */
  CT_EORDER =
      -10, /* called out of order: registered twice, finalized inside a barrier, a fence or a handler */
  CT_EFORK = -11,      /* called in a child of the process that joined */
  CT_ERESTARTED = -12, /* a process was started again, and the function of ct_on_restart wants to go back */
  CT_ENOKEY = -13,     /* no such key: see ct_get and ct_ask; or there is no such thing here */
  CT_EFAILED =
      -14, /* the fence, the ask or the exchange has failed: see ct_fence, ct_ask, ct_exchange_start */
  CT_ENOPORT = -15, /* no port is free on this host, or its launcher is out of descriptors */
  CT_EVERBS = -16   /* a device of InfiniBand or RoCE: see charmtree_verbs.h */
};

#define CT_FOREVER (-1)
#define CT_MAX_TUPLE 4096        /* bytes of one tuple */
#define CT_INIT_TIMEOUT_MS 60000 /* the longest that ct_init waits */

/* What an error value means, in a few words. Never null, never freed; any value may be asked. */
CT_API const char* ct_strerror(int error);

/* Version of the library, such as "0.1.0". */
CT_API const char* ct_version(void);

/* Joins the job of the launcher that started this program and stores it in *job, to be freed by ct_finalize.
 * The launcher is found by CHARMTREE_SOCKET and CHARMTREE_PROCESS; without both, this becomes a job of one
 * that needs no launcher. Each process joins once: a second ct_init, or one in another program that inherited
 * the environment, is CT_EREFUSED. Waits at most CT_INIT_TIMEOUT_MS. On error *job is null. */
CT_API int ct_init(ct_job** job);

/* From now on, calls that wait give up after so many milliseconds (0 or more, or CT_FOREVER). */
CT_API int ct_set_timeout(ct_job* job, int milliseconds);

/* This process's number, 0 ... ct_size - 1. Ranks of one host are consecutive, but for processes that were
 * started again there because their own host was lost. */
CT_API int ct_rank(const ct_job* job);
/* Number of processes of the job. */
CT_API int ct_size(const ct_job* job);
/* The same among the processes that one launcher started on this host, up to now. */
CT_API int ct_local_rank(const ct_job* job);
CT_API int ct_local_size(const ct_job* job);

/* Where the processes are, before there is a table. Hosts are numbered as the job's host list has them, 0 ...
 * ct_hosts - 1; not all need have processes. */
CT_API int ct_hosts(const ct_job* job);
/* The host on which this process was started: the table tells where it is after it was started again. Waits
 * for the table (ct_lookup) only where hosts are so unlike that it is not known before. */
CT_API int ct_host(ct_job* job, int rank);
/* Who has this ct_local_rank here: CT_EINVAL if nobody, or if he came after ct_init. */
CT_API int ct_local_peer(const ct_job* job, int local_rank);

/* What this host consists of, as XML for hwloc_topology_set_xmlbuffer: `size` bytes, the last of them NUL, in
 * memory that all processes of this host share and none can write; valid until ct_finalize. The launcher
 * looks once, when the first of them asks. CT_ENOKEY: it cannot find out, or this is a job of one. (What this
 * process is bound to, sched_getaffinity tells.) */
CT_API int ct_topology(ct_job* job, const char** xml, size_t* size);

/* Number of the table in use; before the first table, of the one to come. One higher after each restart of a
 * process. */
CT_API int ct_epoch(const ct_job* job);

/* A socket of this kind that is bound to a port, which is stored in *port: at all addresses of the host, of
 * IPv6 and IPv4 where it has both (AF_INET6 then), else of IPv4. Returned is the descriptor, with
 * close-on-exec, which is the caller's from then on: to listen on, or to receive by. The launcher has bound
 * it, so nobody else can have the port meanwhile. The ports that the processes of a host have follow each
 * other by ct_local_rank, if so many are free there in a row, else each has any; tuples that are alike but
 * for such a port, in two bytes of either order, cost the node table next to nothing. Once for each kind,
 * then CT_EORDER. Started again, a process gets the same one of a row if that is free: for a minute or so the
 * connections of its last life may keep it. Best called before ct_register, which can tell the port. (When it
 * comes, one descriptor must be free, else CT_ENOMEM.) */
enum { CT_TCP = 1, CT_UDP = 2 };
CT_API int ct_port(ct_job* job, int kind, uint16_t* port);

/* Tells the others this process's tuple: any bytes, at most CT_MAX_TUPLE. Once, and before the first
 * ct_table, ct_lookup, ct_barrier or ct_finalize, which register an empty tuple otherwise; then CT_EORDER. */
CT_API int ct_register(ct_job* job, const void* tuple, size_t size);

/* Waits until every process of the job has registered. If there is a newer table, takes it into use: every
 * ct_peer of the old one is void then. */
CT_API int ct_table(ct_job* job);

/* A process as the table has it. */
struct ct_peer {
  int rank;
  int host;          /* number of its host in the job's host list */
  char address[46];  /* that reaches it from here, numeric, as getaddrinfo takes it: "192.0.2.1" or
                        "2001:db8::1"; "": none is known */
  const void* tuple; /* in memory that all processes of this host share and none can write; valid until
                        ct_table takes a newer table into use, or ct_finalize */
  size_t size;
};

/* Looks a process up in the table in use: no system call, unless there is none yet; then ct_table is called
 * first. */
CT_API int ct_lookup(ct_job* job, int rank, struct ct_peer* peer);

/* Waits until every process of the job that is not lost has entered the barrier. CT_ERESTARTED: see
 * ct_on_restart; this process is in no barrier then. */
CT_API int ct_barrier(ct_job* job);

/* Barriers of the job that have opened. Started again, a process knows from its table on (ct_table) how many
 * opened without it. */
CT_API int ct_barriers(const ct_job* job);

/* What processes tell each other beyond their tuples: values with keys, which a fence brings to all, and
 * values that a fence gives to those that take part in it. The launchers carry them while the program goes on
 * with something else; who reads them reads memory that all processes of its host share and none can write.
 * (When such memory comes, one descriptor must be free for a moment, else CT_ENOMEM.) */

#define CT_MAX_KEY 255       /* bytes of a key, at least 1 */
#define CT_MAX_GIVEN 16384   /* bytes of all that a process gives a fence, with a few more for each value */
#define CT_MAX_RING 1024     /* bytes that a process gives its neighbours */
#define CT_MAX_FENCES 64     /* that a process is in at a time; it has given them 4 CT_MAX_GIVEN at most */
#define CT_MAX_REQUESTS 4096 /* that are not released */

/* Gives this value, any bytes, to the next fence that this process starts, under this key; the last one of a
 * key counts, and if several processes give one key, any of theirs. Copied; nobody sees it before that fence
 * is over. CT_EINVAL also if that fence has no room for it. What has a key is kept, on every host, to the end
 * of the job: for values that nobody needs twice there is ct_allgather_start. */
CT_API int ct_put(ct_job* job, const char* key, const void* value, size_t size);

/* The value of a key that a fence has brought: no system call. Any process may have given it, for any fence
 * that is over, of this process or of others of its host. CT_ENOKEY: there is none. *value belongs to the
 * job; it is valid until ct_fence, ct_test, ct_wait or ct_finalize is called. */
CT_API int ct_get(ct_job* job, const char* key, const void** value, size_t* size);

/* Waits until every process of the job has entered the fence; then all may get what each has put before. What
 * ct_barrier is for order, this is for values; neither counts for the other. CT_EFAILED: a process of it is
 * lost, and so it is with every later one that has that process in it; or ++on-failure restart is in force,
 * where no fence could wait for those that are started again one by one; or all have given more than
 * 1 GiB. Losses and restarts are told here as in ct_barrier. */
CT_API int ct_fence(ct_job* job);

/* Enters the next fence of a group, in whatever order its `count` ranks are named, this process among them,
 * and does not wait, unless the launcher has not read what was said before (CT_ETIMEDOUT: it is not entered);
 * no ranks (count 0): of the job. Returns a request, at least 0, for ct_test or ct_wait; then ct_release. A
 * process may be in several fences, of one group or of many: those of a group are over in the order in which
 * they were started. CT_EORDER: it is in too many. CT_EINVAL also for a group of more than 4096 runs of
 * ranks. CT_EFAILED: see ct_fence; also where the processes of this host have been in 4096 groups. */
CT_API int ct_fence_start(ct_job* job, const int* ranks, int count);

/* The same with a value for those that take part, at most CT_MAX_GIVEN bytes: ct_gathered has all of them
 * when it is over. What was put waits for another fence. The allgathers of a group and its fences are counted
 * apart: one of these may be over before one of those that was started earlier. */
CT_API int ct_allgather_start(ct_job* job, const int* ranks, int count, const void* value, size_t size);

/* Enters the next ring of the job, with a value of at most CT_MAX_RING bytes for the two neighbours of this
 * process: those of the next lower and the next higher rank, where the first and the last of the job are
 * neighbours. ct_gathered has their values when it is over. For programs that need no more than that it costs
 * the same in jobs of any size: what goes over each link of the tree are the values at its two ends. Rings
 * fail as fences do (CT_EFAILED), but where a process is lost while one ends, some may come out of it well.
 */
CT_API int ct_ring_start(ct_job* job, const void* value, size_t size);

/* What few others want to know, such as the tuple of a neighbour in a program that has few of them: a value
 * stays with the launcher of this host, and is asked for by those that want it, one by one. The table then
 * has only hosts and addresses in it (register nothing), and costs next to nothing; an ask costs some
 * messages through the tree. ct_peers tells a program which of the two is better for it. */
#define CT_MAX_OFFERS 1024     /* keys that a process offers */
#define CT_MAX_OFFERED 1048576 /* bytes of these and of their values */
#define CT_MAX_ASKS 256        /* that are under way */
#define CT_MAX_PEERS 256       /* that are counted */

/* From now on, this value, at most CT_MAX_GIVEN bytes, is told to those that ask this process for the key;
 * offered again, the new one is. Copied. */
CT_API int ct_offer(ct_job* job, const char* key, const void* value, size_t size);

/* Asks `rank` for what it offers under the key, and does not wait. Returns a request, as ct_fence_start does,
 * that is over when that process has offered it; ct_gathered has the value, for that rank. CT_EFAILED (of
 * ct_wait): the process is lost, has ended without, or is this one and has not offered it. CT_EORDER: too
 * much is under way. ct_finalize gives up those that are open. */
CT_API int ct_ask_start(ct_job* job, int rank, const char* key);

/* The same, and waits. What this process has asked once it has at hand from then on, as it was then, without
 * a system call, until ct_table takes a newer table into use; as long *value is valid. CT_ENOKEY: it has
 * asked itself, as in a job of one, and has not offered it. */
CT_API int ct_ask(ct_job* job, int rank, const char* key, const void** value, size_t* size);

/* The same without an offer, for what depends on who asks, or is made when it is asked for: `rank` asks for
 * `key`, which this process has not offered, and waits for ct_answer, which the function may call, or which
 * is called later. It may call what a ct_loss_function may, and returns as that does. */
typedef void (*ct_ask_function)(ct_job* job, int rank, const char* key, void* argument);

/* From now on, asks for keys that begin with `prefix` are told by this function (null: by none), also those
 * that wait already; each once, and again if its answer may have been lost. Of several prefixes the longest
 * counts. It is called while this process is in ct_progress, or in another call where losses are told, and in
 * ct_finalize until every process has come there; up to CT_MAX_ASKS at a time that are not answered or
 * offered, the others by and by. A process that ends without an answer fails the asks that wait for it. What
 * a process asks itself is not told to its own functions. CT_EINVAL also for more than CT_MAX_LISTENERS
 * prefixes. */
#define CT_MAX_LISTENERS 64 /* functions, each for a prefix of its own */
CT_API int ct_on_ask(ct_job* job, const char* prefix, ct_ask_function function, void* argument);

/* What `rank` has asked for, at most CT_MAX_GIVEN bytes: for that process, this once. If it does not wait for
 * it, nothing happens. */
CT_API int ct_answer(ct_job* job, int rank, const char* key, const void* value, size_t size);

/* Takes note of what the launcher has said, and calls the functions of ct_on_loss, ct_on_restart and
 * ct_on_ask. Never waits: for programs that wait for something else than the launcher; to be called before
 * each time that they wait for ct_descriptor to become readable, or now and then. In such a function it does
 * nothing. CT_ERESTARTED: as of ct_barrier. */
CT_API int ct_progress(ct_job* job);

/* So many others this process has looked up or asked up to now; CT_MAX_PEERS: or more. It tells the launchers
 * so in ct_finalize, and `charmrun ++report` tells the user what they have found. */
CT_API int ct_peers(const ct_job* job);

/* What most programs do first: each process of the job gives a value, all of one size, and gets those of all
 * by ct_gathered. CT_TABLE, the launchers' own gather, is what is wanted: ct_allgather_start is the same. The
 * others are the ways in which start-ups have been done and measured elsewhere, there to be compared with it:
 *
 *   CT_NODE_ROOTS  the first process of each host (its root) gathers from its host; the roots gather from
 *                  each other; all read memory of the host. At most 4096 hosts, unless ct_set_transport
 *                  carries the values.
 *   CT_SHARED      the processes of a host ask for one share of the values each, and put them into memory of
 *                  the host.
 *   CT_SIMPLE      each process asks for each of the values.
 *
 * Returns a request. The launchers go on with CT_TABLE by themselves, with the others only while ct_test or
 * ct_wait is called for any request. One of the others at a time, by all processes, in one order, else
 * CT_EORDER. They fail as fences do (CT_EFAILED), but some may come out of one well. */
enum { CT_TABLE = 0, CT_NODE_ROOTS = 1, CT_SHARED = 2, CT_SIMPLE = 3 };
#define CT_MAX_EXCHANGE 4096 /* bytes of a value there, at least 1 */
CT_API int ct_exchange_start(ct_job* job, int strategy, const void* value, size_t size);

/* The program's own way between roots, such as a fast network: `values` has room for those of all, by rank,
 * `size` bytes each, and those of this host are there. Brings the others, by whatever the `count` roots do
 * together (ranks, void when it returns, as `values` is); 0, or another number: that has failed. */
typedef int (*ct_transport_function)(ct_job* job, void* values, size_t size, const int* roots, int count,
                                     void* argument);

/* From now on CT_NODE_ROOTS calls this function in each root (null: the launchers carry the values). It may
 * call what a ct_loss_function may. */
CT_API int ct_set_transport(ct_job* job, ct_transport_function function, void* argument);

/* What `rank` gave for an allgather, or a neighbour for a ring, that is over. Belongs to the request: valid
 * until ct_release. CT_EINVAL: it has none of that process, or is not over. */
CT_API int ct_gathered(ct_job* job, int request, int rank, const void** value, size_t* size);

/* 1: it is over, 0: not yet, CT_EFAILED. Never waits. */
CT_API int ct_test(ct_job* job, int request);
/* Waits for that. Losses and restarts are told here as in ct_barrier. */
CT_API int ct_wait(ct_job* job, int request);
/* The request is void. CT_EORDER: it is not over. */
CT_API int ct_release(ct_job* job, int request);

/* Processes that are lost. With `charmrun ++on-failure continue` a job goes on when a process dies or its
 * host is lost; else its loss is the end of the job, and nothing of this happens. Who is lost stays so and
 * keeps its place in the table; barriers and ct_finalize wait for the others alone. */

/* `ranks`, `count` of them, have been lost since the last call; void when the function returns. May call what
 * it likes, but what waits for others (CT_EORDER): ct_table, ct_barrier, ct_fence, ct_wait, ct_ask,
 * ct_ccs_serve, ct_finalize, and ct_lookup before the first ct_table. It returns: no exception, no longjmp.
 */
typedef void (*ct_loss_function)(ct_job* job, const int* ranks, int count, void* argument);

/* From now on, losses are told by this function (null: by none), also those that are known already. It is
 * called only while this process is in ct_table, ct_lookup, ct_barrier, ct_fence, ct_wait, ct_ask,
 * ct_ccs_serve or ct_progress, and in ct_barrier
 * before it returns for want of the lost ones. */
CT_API int ct_on_loss(ct_job* job, ct_loss_function function, void* argument);

/* 1, or 0 if the loss of this process is known here: any call that waits may have heard of it. */
CT_API int ct_alive(const ct_job* job, int rank);

/* Processes that are started again. With `charmrun ++on-failure restart` a process that dies is started
 * again, with the same command line and the same number, on the same host. It joins, registers and gets its
 * table as it did the first time, but waits for nobody: the others have registered. Where it goes on from is
 * the program's own affair, which has kept that in a file, or with other processes.
 *
 * The others get its new tuple with their next ct_table, are told by the function of ct_on_restart, and stay
 * in the barrier that they are in. A barrier opens when every process, in its present life, has entered it:
 * what a process entered before it died counts only if the barrier opened before its death was known. So
 * barriers and restarts have one order for all: whoever is told of a restart has the same
 * ct_barriers as all others who are, and as the new process when it has its table, whose first ct_barrier is
 * the one that the others are in, or come to next. For example, in a program that saves each step and then
 * enters a barrier, a process that finds n steps saved goes on with the next one if ct_barriers is n; if it
 * is n - 1, it enters that barrier first. A program whose processes all have to go back to a checkpoint
 * returns 1 from its function, and all, the new process too, go back to one that ct_barriers tells to be
 * complete.
 *
 * A process that ends by itself without ct_finalize, or with another exit status than 0, has failed like one
 * that is killed, and so has one that is killed inside ct_finalize before all have come there. ct_abort, and
 * failures before every process has its table or after all could leave, are not the end of a process but of
 * the job. */

/* So often this process, its number, has been started again; 0: it is the first. Plain programs find the same
 * in CHARMTREE_RESTARTS. */
CT_API int ct_restarts(const ct_job* job);

/* `ranks`, `count` of them, have been started again and have registered; void when the function returns. It
 * may call what ct_loss_function may, and ct_table, which has their tuples. Returns 0 to go on; else the call
 * in which it was called is left with CT_ERESTARTED. It returns: no exception, no longjmp. */
typedef int (*ct_restart_function)(ct_job* job, const int* ranks, int count, void* argument);

/* From now on, restarts of other processes are told by this function (null: by none), each once. It is called
 * only while this process is in a call where losses are told, and at the latest in the
 * next ct_barrier before that opens. */
CT_API int ct_on_restart(ct_job* job, ct_restart_function function, void* argument);

/* Clients of the running job (charmrun ++server; CCS, the protocol of Charm++'s clients) ask for a handler by
 * its name, of one process (PE p: process p / ++ppn, so process p without), of several or of all. Each
 * process that is asked replies once. Replies of several are merged on the way to the client, as the handler
 * was registered: strung together by rank; or, as arrays of numbers of one length in the hosts' byte order,
 * added, or the least or the greatest taken, element by element. (Sums of doubles depend a little on the
 * order in which the replies come.) A request for several has at most 4 MiB of data, and fails where one of
 * them has no such handler, merges in another way, or ends; so does one for a process that ends. ccs_getinfo,
 * and names that begin with "redirect stdio" or "fetch stdio", are charmrun's. */
enum {
  CT_CCS_CONCAT = 0,
  CT_CCS_SUM = 1,
  CT_CCS_MIN = 2,
  CT_CCS_MAX = 3,
  /* one of the last three | one of these */
  CT_CCS_INT32 = 16,
  CT_CCS_INT64 = 32,
  CT_CCS_DOUBLE = 48
};
#define CT_MAX_CCS_HANDLERS 1024  /* of a process */
#define CT_MAX_CCS_NAME 31        /* bytes of a handler's name, at least 1 */
#define CT_MAX_CCS_REPLY 67108864 /* bytes of a reply, also of a merged one */

struct ct_ccs_request {
  uint32_t id;         /* for ct_ccs_reply */
  const char* handler; /* this and data are void when the handler returns */
  const void* data;    /* what the client sent */
  size_t size;
  uint32_t ipv4; /* of the client as it can be reached from here, in host byte order */
  uint16_t port;
};
/* May call what it likes, but ct_ccs_serve and ct_finalize (CT_EORDER). It returns: no exception, no longjmp.
 * It need not reply; of more than 1024 requests that a process keeps, the oldest are given up. */
typedef void (*ct_ccs_function)(ct_job* job, const struct ct_ccs_request* request, void* argument);

/* From now on, this process takes requests for the handler of this name, merged so; registered again, the
 * new ones count. What is registered before ct_register, no request comes too early for. */
CT_API int ct_ccs_register(ct_job* job, const char* name, int merge, ct_ccs_function function,
                           void* argument);

/* Waits until requests have come, and calls the handlers of all that have, in the order of their coming; only
 * here are handlers called. Registers an empty tuple if ct_register was not called. Their number, or
 * CT_ETIMEDOUT: none has come. In a job of one none ever does: CT_EENV if it would wait for ever. */
CT_API int ct_ccs_serve(ct_job* job);

/* Replies to a request, by its handler or later. 0: the reply is taken and will leave as a whole, if not now
 * then with later calls. CT_ETIMEDOUT: it is not taken, because what was said before has not left yet.
 * CT_EINVAL: the request was answered before, there is none of this id, or the reply is too long. */
CT_API int ct_ccs_reply(ct_job* job, uint32_t id, const void* data, size_t size);

/* To wait for requests beside other things: the job's descriptor, and the events to poll(2) it for. Before
 * each poll, ct_ccs_serve with a time-out of 0 until it is CT_ETIMEDOUT: other calls may have heard requests,
 * and what has not left leaves then. The descriptor belongs to the job. CT_EENV: a job of one has none. */
CT_API int ct_descriptor(const ct_job* job);
CT_API int ct_poll_events(const ct_job* job);

enum { CT_STDOUT = 1, CT_STDERR = 2 };

/* Prints text, at most CT_MAX_PRINT bytes, on charmrun's stdout or stderr. 0: the text is taken and will
 * appear as a whole, after what this process printed so before. CT_ETIMEDOUT: none of it is taken. What the
 * program writes to its own stdout is shown too, but the order between the two is open. In a job of one:
 * write(2), with all that it does. */
#define CT_MAX_PRINT 262144
CT_API int ct_print(ct_job* job, int stream, const char* text);

/* Asks the launcher to end the whole job with this exit status (1 ... 255) and to tell the user this text
 * (null: none; cut after 16384 bytes). 0: the request is on its way, and this process may be killed at any
 * moment; it should leave by itself. CT_ETIMEDOUT: it has not left as a whole yet. After either, only
 * ct_abort (to go on waiting) and ct_finalize (which returns CT_EENDED) are left to be called. In a job of
 * one the text goes to stderr. */
CT_API int ct_abort(ct_job* job, int status, const char* text);

/* Tells that this process is done and is going to exit with `status`, waits until every process has done so,
 * and frees the job. Until then the functions of ct_on_ask are called, which may call ct_answer and ct_offer.
 * The job is freed whatever is returned, but for CT_ETIMEDOUT and CT_EORDER. 0: the job has ended as a whole.
 * A process that leaves without it, or with another exit status than 0 afterwards, has failed in the
 * launcher's eyes. */
CT_API int ct_finalize(ct_job* job, int status);

#ifdef __cplusplus
}
#endif

#endif /* CHARMTREE_H */
