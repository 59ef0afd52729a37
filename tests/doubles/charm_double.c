// SPDX-License-Identifier: Apache-2.0
// A program that talks to its launcher as a stock Charm++ netlrts process does, with all its habits: it
// copies captured output to its original descriptors, takes any message for the reply that it waits for,
// sends a spurious abort at the end and always exits with 1. It also checks the launcher: the node table's
// form, and by one datagram to and from every process that the addresses in it can be reached from
// everywhere. Process 0 prints "double: ok N processes" only if every process found everything right. One
// that found a fault says so on stderr and ends with code 3. The options are listed in kUsage.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/doubles/charm_wire.h"

static const char kUsage[] =
    "charm_double [options]   (started by a launcher: NETSTART in the environment)\n"
    "  --prints K             each process prints K lines by `print` messages\n"
    "  --flood K              process 0 first prints K lines of 1000 bytes by `print` messages\n"
    "  --printf K             each process prints K lines by printf, captured as Charm++ does\n"
    "  --printsyn K           each process prints K lines and waits for the receipt of each\n"
    "  --receipts             each of those is told on stderr\n"
    "  --write-before-table TEXT  each process writes TEXT to descriptor 1 before it connects\n"
    "  --barriers K           rounds of `barrier` (default 9)\n"
    "  --barrier0             one round of `barrier0` as well\n"
    "  --scanf FORMAT         process 0 asks for input and prints what it got\n"
    "  --scans K              each process does that K times, and prints by `printsyn`\n"
    "  --smp PES              expect PES in the table and send one `ending` for each\n"
    "  --compute SECONDS      be silent that long, without pings\n"
    "  --dribble              send byte by byte\n"
    "  --fork-grandchild SECONDS  leave a child that ignores SIGTERM and keeps all descriptors\n"
    "  --exit CODE            process 0 ends with CODE\n"
    "  --abort TEXT           process 0 aborts\n"
    "  --kill-self SIG        process 0 kills itself half-way\n"
    "  --exit-early CODE      exit before `initnode`\n"
    "  --die-before-table     exit after `initnode`, before the table\n"
    "  --hang-at-exit         ignore SIGTERM and never exit\n"
    "  --process I            process I does what is meant for process 0, and what ends or leaves a process\n"
    "  --layout               each process prints where its code, its stack and its libraries are\n"
    "  --old                  send the initnode of Charm++ 6.8\n"
    "  --standalone-ok        without a launcher: say so and exit with 0\n"
    "  --strict-fds           inherited descriptors above 2 are a fault\n"
    "  ++quiet                as stock clients take it from their launcher; changes nothing\n";

enum {
  kChunk = 16384,         // of captured output
  kTableSeconds = 60,     // a stock client waits 1200 s
  kReplySeconds = 600,    // for any one message
  kExchangeSeconds = 30,  // for the datagrams of all others
  kResendMs = 100,
  kFaultCode = 3,
  kMagic = 0x43684462,
};

struct options {
  int prints, flood, printfs, printsyns, barriers, barrier0, smp, dribble, kill_self, exit_early,
      die_before_table, hang, standalone_ok;
  int receipts, scans, strict_fds, layout, old, quiet, exit_code, process;  // process -1: not given
  double compute, grandchild;
  const char *write_before_table, *scanf_format, *abort_text;
};

struct message {
  char type[13];
  uint32_t length;
  unsigned char* payload;  // in the input buffer; valid until the next turn
};

struct launcher {
  char name[1024];
  int port;
};

struct client {
  struct options options;
  uint32_t number, total;
  int control, data;
  int captured[2], original[2];  // stdout, stderr; -1 before the table
  unsigned char* input;
  size_t input_size, input_capacity, input_taken;
  int eof;
  unsigned char* table;  // entries
  uint32_t token;        // hash of the table: datagrams of processes with another table are not ours
  unsigned char* seen;   // by process: bit k is set once a datagram of kind k came from it
  int faults, others_faulty;
  int64_t next_ping_ms;
};

enum kind { kHello = 1, kHelloAck, kReport, kReportAck };

// ---- sending

static void send_message(struct client* c, const char* type, const void* payload, size_t size) {
  unsigned char* bytes = calloc(1, kHeader + size);
  if (bytes == NULL) _exit(2);
  put(bytes, (uint32_t)size);
  memcpy(bytes + 4, type, strlen(type));
  if (size > 0) memcpy(bytes + kHeader, payload, size);
  for (size_t at = 0, end = kHeader + size; at < end;) {
    const ssize_t sent = send(c->control, bytes + at, c->options.dribble ? 1 : end - at, MSG_NOSIGNAL);
    if (sent < 0 && errno != EINTR) break;  // the launcher is gone: reading will tell
    if (sent > 0) at += (size_t)sent;
  }
  free(bytes);
}

static void send_text(struct client* c, const char* type, const char* text) {
  send_message(c, type, text, strlen(text) + 1);
}

static void leave(struct client* c, const char* reason) {
  send_text(c, "abort", reason);
  close(c->control);
  _exit(1);
}

// As the real one: everything that is printed is also written to the descriptor that stdout or stderr was,
// with its NUL.
static void copy_to_original(struct client* c, int stream, const char* bytes, size_t size) {
  if (c->original[stream] < 0) return;
  if (write(c->original[stream], bytes, size) != (ssize_t)size) leave(c, "Writing to terminal failed!");
}

static void print_text(struct client* c, int stream, const char* type, const char* text) {
  send_text(c, type, text);
  copy_to_original(c, stream, text, strlen(text));
}

__attribute__((format(printf, 2, 3))) static void fault(struct client* c, const char* format, ...) {
  char what[300], line[400];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  snprintf(line, sizeof line, "double %u/%u: FAULT: %s\n", c->number, c->total, what);
  print_text(c, 1, "printerr", line);
  ++c->faults;
}

// ---- datagrams between the processes

static struct sockaddr_in address_of(const struct client* c, uint32_t process) {
  return address_in(c->table, process);
}

static void send_datagram(struct client* c, uint32_t kind, uint32_t to) {
  unsigned char bytes[24];
  const uint32_t fields[6] = {kMagic, c->token, kind, c->number, to, (uint32_t)c->faults};
  for (int i = 0; i < 6; ++i) put(bytes + 4 * i, fields[i]);
  const struct sockaddr_in address = address_of(c, to);
  sendto(c->data, bytes, sizeof bytes, MSG_DONTWAIT, (const struct sockaddr*)&address, sizeof address);
}

static void receive_datagrams(struct client* c) {
  unsigned char bytes[64];
  ssize_t size;
  while ((size = recv(c->data, bytes, sizeof bytes, MSG_DONTWAIT)) >= 0) {
    if (size != 24 || get(bytes) != kMagic || c->table == NULL || get(bytes + 4) != c->token) continue;
    const uint32_t from = get(bytes + 12);
    if (get(bytes + 16) != c->number || from >= c->total) continue;
    const uint32_t kind = get(bytes + 8);
    if (kind < kHello || kind > kReportAck) continue;
    c->seen[from] |= (unsigned char)(1 << kind);
    if (kind == kReport && get(bytes + 20) != 0) c->others_faulty = 1;
    if (kind == kHello || kind == kReport) send_datagram(c, kind + 1, from);
  }
}

// ---- one turn of the loop in which a Charm++ process serves its launcher

static void pump_captured(struct client* c, int stream) {
  static char chunk[kChunk + 1];
  ssize_t size;
  if (c->captured[stream] < 0) return;
  while ((size = recv(c->captured[stream], chunk, kChunk, MSG_DONTWAIT)) > 0) {
    chunk[size] = '\0';
    send_message(c, stream == 0 ? "print" : "printerr", chunk, (size_t)size + 1);
    copy_to_original(c, stream, chunk, (size_t)size + 1);
  }
}

static void receive_control(struct client* c) {
  if (c->input_taken > 0) {
    memmove(c->input, c->input + c->input_taken, c->input_size - c->input_taken);
    c->input_size -= c->input_taken;
    c->input_taken = 0;
  }
  if (c->input_capacity - c->input_size < 65536) {
    c->input_capacity = 2 * c->input_capacity + 65536;
    c->input = realloc(c->input, c->input_capacity);
    if (c->input == NULL) _exit(2);
  }
  const ssize_t size =
      recv(c->control, c->input + c->input_size, c->input_capacity - c->input_size, MSG_DONTWAIT);
  if (size > 0) {
    c->input_size += (size_t)size;
  } else if (size == 0 || (errno != EAGAIN && errno != EINTR)) {
    c->eof = 1;
  }
}

static void turn(struct client* c, int64_t ms) {
  struct pollfd polls[4] = {{c->control, POLLIN, 0},
                            {c->data, POLLIN, 0},
                            {c->captured[0], POLLIN, 0},
                            {c->captured[1], POLLIN, 0}};
  if (c->eof) polls[0].fd = -1;
  int64_t wait = c->next_ping_ms - now_ms();
  if (wait > ms) wait = ms;
  poll(polls, 4, wait > 0 ? (int)wait : 0);
  pump_captured(c, 0);
  pump_captured(c, 1);
  receive_datagrams(c);
  if (!c->eof) receive_control(c);
  if (c->table != NULL && now_ms() >= c->next_ping_ms) {
    send_message(c, "ping", NULL, 0);
    c->next_ping_ms = now_ms() + 1000 + 250 * (int64_t)c->total;
  }
}

static int take_message(struct client* c, struct message* message) {
  unsigned char* p = c->input + c->input_taken;
  const size_t size = c->input_size - c->input_taken;
  if (size < kHeader || size - kHeader < get(p)) return 0;
  memset(message->type, 0, sizeof message->type);
  memcpy(message->type, p + 4, 12);
  message->length = get(p);
  message->payload = p + kHeader;
  c->input_taken += kHeader + message->length;
  return 1;
}

// The next message, whatever it is: what a client that waits for a reply takes for it.
static struct message next_message(struct client* c, int seconds) {
  struct message message;
  const int64_t deadline = now_ms() + 1000LL * seconds;
  while (!take_message(c, &message)) {
    if (c->eof) _exit(1);  // "Socket closed before recv."
    if (now_ms() > deadline) leave(c, "Timeout on socket recv!");
    turn(c, 1000);
  }
  if (strcmp(message.type, "die") == 0) _exit(c->table == NULL ? 1 : 0);
  return message;
}

static void wait_for(struct client* c, const char* type) {
  for (;;) {
    const struct message message = next_message(c, kReplySeconds);
    if (strcmp(message.type, type) == 0) return;
    if (strcmp(message.type, "barrier0") == 0 || strcmp(message.type, "req_fw") == 0) continue;
    leave(c, "ERROR> Unrecognized message from charmrun.");
  }
}

// ---- start

static void send_initnode(struct client* c, uint32_t data_port) {
  unsigned char payload[kInitnode] = {0};
  fill_initnode(payload, c->number, data_port);
  send_message(c, "initnode", payload, c->options.old ? 24 : sizeof payload);
}

// Numbers are the same as positions, hosts are contiguous blocks with the right process count and one
// address, PEs are as expected.
static void check_table(struct client* c, uint32_t data_port) {
  const uint32_t pes = c->options.smp > 0 ? (uint32_t)c->options.smp : 1;
  uint32_t host_first = 0, host_count = 0;
  for (uint32_t i = 0; i < c->total; ++i) {
    const unsigned char* entry = c->table + (size_t)kEntry * i;
    const uint32_t count = get(entry + 4);
    if (get(entry) != i) fault(c, "entry %u of the table has number %u", i, get(entry));
    if (get(entry + 8) != pes) fault(c, "process %u has %u PEs instead of %u", i, get(entry + 8), pes);
    if (get(entry + 12) == 0 || get(entry + 12) > 65535)
      fault(c, "process %u has data port %u", i, get(entry + 12));
    if (get(entry + 20) == 0) fault(c, "process %u has no address", i);
    if (i == host_first + host_count) {
      host_first = i;
      host_count = count;
      if (count == 0 || count > c->total - i) fault(c, "process %u: %u processes on its host", i, count);
    } else if (count != host_count ||
               memcmp(entry + 20, c->table + (size_t)kEntry * host_first + 20, 4) != 0) {
      fault(c, "processes %u and %u of one host differ in count or address", host_first, i);
    }
  }
  // The local rank is number mod count: a permutation of 0 ... count-1 within each block if all this holds.
  if (get(c->table + (size_t)kEntry * c->number + 12) != data_port)
    fault(c, "the table has another data port than mine");
}

// As told by `nodefork`: the children connect anew, with a data socket of their own. Returns the data port.
static uint32_t fork_children(struct client* c, const struct launcher* launcher,
                              const struct message* message, uint32_t data_port) {
  const uint32_t children = get(message->payload), first = get(message->payload + 4);
  for (uint32_t i = 0; i < children; ++i) {
    const pid_t pid = fork();
    if (pid < 0) _exit(2);
    if (pid > 0) continue;
    close(c->control);
    c->number = first + i;
    c->data = open_data(&data_port);
    c->control = connect_control(launcher->name, launcher->port);
    send_initnode(c, data_port);
    break;
  }
  return data_port;
}

static void take_table(struct client* c, const struct launcher* launcher, uint32_t data_port) {
  struct message message = next_message(c, kTableSeconds);
  while (strcmp(message.type, "nodefork") == 0 && message.length == 8) {
    data_port = fork_children(c, launcher, &message, data_port);
    message = next_message(c, kTableSeconds);
  }
  if (strcmp(message.type, "initnodetab") != 0) {
    fprintf(stderr, "charm_double: `%s` instead of `initnodetab`\n", message.type);
    _exit(1);
  }
  const uint32_t total = message.length >= 8 ? get(message.payload) : 0;
  if (total == 0 || message.length != 8 + (uint64_t)kEntry * total) {
    fprintf(stderr, "charm_double: a table of %u bytes for %u processes\n", message.length, total);
    _exit(1);
  }
  const uint32_t own = get(message.payload + 4);
  c->total = total;
  c->seen = calloc(total, 1);
  c->table = malloc((size_t)kEntry * total);
  if (c->seen == NULL || c->table == NULL) _exit(2);
  memcpy(c->table, message.payload + 8, (size_t)kEntry * total);
  c->token = 2166136261U;  // FNV-1a
  for (size_t i = 0; i < (size_t)kEntry * total; ++i) c->token = (c->token ^ c->table[i]) * 16777619U;
  if (own != c->number) fault(c, "started as process %u, the table says %u", c->number, own);
  if (own >= total) leave(c, "The table gives a number that it does not hold.");
  c->number = own;
  c->next_ping_ms = now_ms() + 1000 + 250 * (int64_t)total;
  check_table(c, data_port);
}

static void capture_output(struct client* c) {
  for (int stream = 0; stream < 2; ++stream) {
    int pair[2];
    fflush(stream == 0 ? stdout : stderr);
    c->original[stream] = dup(1 + stream);
    if (c->original[stream] < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) _exit(2);
    dup2(pair[1], 1 + stream);
    close(pair[1]);
    c->captured[stream] = pair[0];
  }
}

// ---- the run

// Asks every process (kHello) or process 0 (kReport) until it has answered, and waits until all have asked
// this one.
static void exchange(struct client* c, enum kind kind) {
  const unsigned char asked = (unsigned char)(1 << kind), answered = (unsigned char)(1 << (kind + 1));
  const uint32_t targets = kind == kHello ? c->total : 1,
                 askers = kind == kHello || c->number == 0 ? c->total : 0;
  const int64_t deadline = now_ms() + 1000 * kExchangeSeconds;
  for (int64_t resend = 0;; turn(c, kResendMs)) {
    uint32_t silent = 0, unheard = 0, example = 0;
    for (uint32_t i = 0; i < c->total; ++i) {
      const int no_answer = i < targets && (c->seen[i] & answered) == 0,
                not_asked = i < askers && (c->seen[i] & asked) == 0;
      silent += no_answer;
      unheard += not_asked;
      if (no_answer || not_asked) example = i;
      if (no_answer && now_ms() >= resend) send_datagram(c, kind, i);
    }
    if (silent == 0 && unheard == 0) return;
    if (now_ms() >= resend) resend = now_ms() + kResendMs;
    if (c->eof) _exit(1);
    if (now_ms() > deadline) {
      const struct sockaddr_in address = address_of(c, example);
      fault(c, "%s: %u did not answer, %u did not ask; e.g. process %u at %s:%u",
            kind == kHello ? "data network" : "reports", silent, unheard, example,
            inet_ntoa(address.sin_addr), ntohs(address.sin_port));
      return;
    }
  }
}

static void print_and_wait(struct client* c, const char* line) {
  send_text(c, "printsyn", line);
  const struct message reply = next_message(c, kReplySeconds);
  if (strcmp(reply.type, "printdone") != 0) fault(c, "took `%s` for the receipt of a print", reply.type);
  copy_to_original(c, 0, line, strlen(line));
}

static void print_lines(struct client* c) {
  char line[100];
  if (c->options.layout) {
    snprintf(line, sizeof line, "double %u/%u: layout %p %p %p\n", c->number, c->total, (const void*)kUsage,
             (void*)line, dlsym(RTLD_DEFAULT, "printf"));
    print_text(c, 0, "print", line);
  }
  for (int i = 0; i < c->options.prints; ++i) {
    snprintf(line, sizeof line, "double %u/%u: print %d\n", c->number, c->total, i);
    print_text(c, 0, "print", line);
  }
  for (int i = 0; i < c->options.printfs; ++i) {
    printf("double %u/%u: printf %d\n", c->number, c->total, i);
    fflush(stdout);
    turn(c, 0);
  }
  for (int i = 0; i < c->options.printsyns; ++i) {
    snprintf(line, sizeof line, "double %u/%u: printsyn %d\n", c->number, c->total, i);
    print_and_wait(c, line);
    snprintf(line, sizeof line, "double %u/%u: receipt %d\n", c->number, c->total, i);
    if (c->options.receipts) print_text(c, 1, "printerr", line);
  }
}

static void flood(struct client* c) {
  char line[1001];
  memset(line, 'x', sizeof line);
  for (int i = 0; i < c->options.flood; ++i) {
    line[snprintf(line, sizeof line, "double %u/%u: flood %d ", c->number, c->total, i)] = 'x';
    line[999] = '\n', line[1000] = '\0';
    print_text(c, 0, "print", line);
  }
}

static void scan(struct client* c) {
  char line[1000];
  snprintf(line, sizeof line, "%s", c->options.scanf_format);
  for (char* p = line; *p != '\0'; ++p) {
    if (*p == '\n') *p = ' ';
  }
  send_text(c, "scanf", line);
  const struct message reply = next_message(c, kReplySeconds);
  if (strcmp(reply.type, "scanf-data") != 0 || reply.length == 0 || reply.payload[reply.length - 1] != '\0') {
    fault(c, "took `%s` of %u bytes for input", reply.type, reply.length);
    return;
  }
  snprintf(line, sizeof line, "double %u/%u: scanned <%.900s>\n", c->number, c->total,
           (const char*)reply.payload);
  if (c->options.scans > 0)
    print_and_wait(c, line);
  else
    print_text(c, 0, "print", line);
}

static void leave_grandchild(double seconds) {
  if (fork() != 0) return;
  for (int number = SIGHUP; number <= SIGTERM; ++number) signal(number, SIG_IGN);
  rest(seconds);
  _exit(0);
}

// True if this process is the one that an option is meant for; `all`: without --process it is meant for
// everybody.
static int chosen(const struct client* c, int all) {
  if (c->options.process >= 0) return (uint32_t)c->options.process == c->number;
  return all || c->number == 0;
}

static void run(struct client* c) {
  const struct options* o = &c->options;
  exchange(c, kHello);
  if (chosen(c, 0)) flood(c);
  for (int i = 0; i < o->barriers; ++i) {
    if (i == o->barriers / 2 && o->kill_self != 0 && chosen(c, 0)) kill(getpid(), o->kill_self);
    if (c->total == 1) continue;  // as LrtsBarrier
    send_message(c, "barrier", NULL, 0);
    wait_for(c, "barrier");
  }
  if (o->barrier0) send_text(c, "barrier0", "0");  // the number in it is of no use to anybody
  if (o->barrier0 && c->number == 0) wait_for(c, "barrier0");
  if (o->grandchild > 0 && chosen(c, 1)) leave_grandchild(o->grandchild);
  print_lines(c);
  if (o->scanf_format != NULL && o->scans == 0 && chosen(c, 0)) scan(c);
  for (int i = 0; i < o->scans; ++i) scan(c);
  if (o->abort_text != NULL && chosen(c, 0)) {
    char text[1000];
    snprintf(text, sizeof text, "Fatal error on PE %u> %s", c->number, o->abort_text);
    leave(c, text);
  }
  if (o->compute > 0) rest(o->compute);
  exchange(c, kReport);
}

static void end(struct client* c) {
  char text[100];
  if (c->number == 0 && c->faults == 0 && !c->others_faulty) {
    snprintf(text, sizeof text, "double: ok %u processes\n", c->total);
    print_text(c, 0, "print", text);
  }
  snprintf(text, sizeof text, "%d", c->faults > 0 ? kFaultCode : chosen(c, 0) ? c->options.exit_code : 0);
  fflush(stdout);
  turn(c, 0);
  for (int pe = 0; pe < (c->options.smp > 0 ? c->options.smp : 1); ++pe) send_text(c, "ending", text);
  while (!c->eof) {
    if (c->next_ping_ms > now_ms() + 1000) c->next_ping_ms = now_ms() + 1000;
    turn(c, 1000);
    c->input_taken = c->input_size;  // whatever still comes
  }
  if (c->options.hang && chosen(c, 1)) {
    signal(SIGTERM, SIG_IGN);
    for (;;) pause();
  }
  leave(c, "ERROR> Unrecognized message from charmrun.");
}

// ---- command line

static int parse(struct options* o, int argc, char** argv) {
  const struct {
    const char* name;
    int *flag, *number;
    double* seconds;
    const char** text;
  } known[] = {
      {"--prints", 0, &o->prints, 0, 0},
      {"--flood", 0, &o->flood, 0, 0},
      {"--printf", 0, &o->printfs, 0, 0},
      {"--printsyn", 0, &o->printsyns, 0, 0},
      {"--write-before-table", 0, 0, 0, &o->write_before_table},
      {"--barriers", 0, &o->barriers, 0, 0},
      {"--barrier0", &o->barrier0, 0, 0, 0},
      {"--scanf", 0, 0, 0, &o->scanf_format},
      {"--scans", 0, &o->scans, 0, 0},
      {"--receipts", &o->receipts, 0, 0, 0},
      {"--smp", 0, &o->smp, 0, 0},
      {"--compute", 0, 0, &o->compute, 0},
      {"--dribble", &o->dribble, 0, 0, 0},
      {"--fork-grandchild", 0, 0, &o->grandchild, 0},
      {"--exit", 0, &o->exit_code, 0, 0},
      {"--abort", 0, 0, 0, &o->abort_text},
      {"--kill-self", 0, &o->kill_self, 0, 0},
      {"--exit-early", 0, &o->exit_early, 0, 0},
      {"--die-before-table", &o->die_before_table, 0, 0, 0},
      {"--hang-at-exit", &o->hang, 0, 0, 0},
      {"--process", 0, &o->process, 0, 0},
      {"--layout", &o->layout, 0, 0, 0},
      {"--old", &o->old, 0, 0, 0},
      {"--standalone-ok", &o->standalone_ok, 0, 0, 0},
      {"--strict-fds", &o->strict_fds, 0, 0, 0},
      {"++quiet", &o->quiet, 0, 0, 0},
  };
  for (int i = 1; i < argc; ++i) {
    size_t k = 0;
    while (k < sizeof known / sizeof known[0] && strcmp(argv[i], known[k].name) != 0) ++k;
    if (k == sizeof known / sizeof known[0] || (known[k].flag == NULL && i + 1 == argc)) {
      return 0;
    } else if (known[k].flag != NULL) {
      *known[k].flag = 1;
    } else {
      const char* value = argv[++i];
      if (known[k].number != NULL) *known[k].number = atoi(value);
      if (known[k].seconds != NULL) *known[k].seconds = atof(value);
      if (known[k].text != NULL) *known[k].text = value;
    }
  }
  return 1;
}

int main(int argc, char** argv) {
  struct client c = {.captured = {-1, -1},
                     .original = {-1, -1},
                     .options = {.barriers = 9, .process = -1, .exit_early = -1}};
  if (!parse(&c.options, argc, argv)) return fputs(kUsage, stderr), 2;
  c.next_ping_ms = INT64_MAX;
  int inherited = 0;
  for (int fd = 3; fd < 1024; ++fd) inherited += fcntl(fd, F_GETFD) != -1;
  for (int fd = 0; fd < 3; ++fd) {
    if (fcntl(fd, F_GETFD) == -1) _exit(2);  // the real one would deadlock on itself
  }

  struct launcher launcher;
  int number, pid, zero;
  const char* netstart = getenv("NETSTART");
  if (netstart == NULL && c.options.standalone_ok) return puts("double: standalone") < 0;
  if (netstart == NULL ||
      sscanf(netstart, "%d%1023s%d%d%d", &number, launcher.name, &launcher.port, &pid, &zero) != 5) {
    return fputs("charm_double: Error parsing NETSTART\n", stderr), 2;
  }
  c.number = (uint32_t)number;
  if (c.options.write_before_table != NULL) dprintf(1, "%s\n", c.options.write_before_table);
  if (c.options.exit_early >= 0 && chosen(&c, 1)) return c.options.exit_early;

  uint32_t data_port;
  c.data = open_data(&data_port);
  c.control = connect_control(launcher.name, launcher.port);
  send_initnode(&c, data_port);
  if (c.options.die_before_table && chosen(&c, 1)) return 9;
  take_table(&c, &launcher, data_port);
  capture_output(&c);
  if (c.options.strict_fds && inherited > 0) fault(&c, "%d inherited descriptors", inherited);
  run(&c);
  end(&c);
}
