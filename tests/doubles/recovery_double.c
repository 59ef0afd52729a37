// SPDX-License-Identifier: Apache-2.0
// A program that talks to its launcher as a stock Charm++ process of a fault-tolerant (syncft) build does:
// it ignores SIGTERM, takes new tables while it runs, answers `crashnode` with `crash_ack`, and one that was
// started anew is told so by its arguments. All processes go through the same rounds, with a barrier behind
// each. One that was started anew asks all others, by the data network, where they are, and goes on there;
// it is answered at the address that the others' tables give it. Whoever finds a fault in what the launcher
// does says so and aborts.
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>

#include "tests/doubles/charm_wire.h"

static const char kUsage[] =
    "recovery_double [options]   (started by a launcher)\n"
    "  --rounds K           so many rounds (default 3)\n"
    "  --step SECONDS       each takes so long (default 0.02)\n"
    "  --ack-delay SECONDS  between learning of a crash and saying so\n"
    "  --die WHEN:I:PHASE   process I kills itself in that phase (1: its first life; 0: any) ...\n"
    "                       WHEN  start   before `initnode`\n"
    "                             joined  behind it\n"
    "                             table   when it has its table\n"
    "                             ack     when it hears of a crash, instead of `crash_ack`\n"
    "                             round   behind its first barrier\n"
    "                             ended   behind its `ending`\n"
    "                             cut     as round, but only closes its connection\n"
    "                             abort   as round, but aborts\n";

enum { kMostDeaths = 8, kMagic = 0x52656356, kResendMs = 50, kPatienceMs = 60000 };

struct death {
  char when[16];
  int process, phase;
};

static struct {
  int rounds, deaths;
  double step, ack_delay;
  struct death death[kMostDeaths];
} options = {.rounds = 3, .step = 0.02};

static uint32_t number, total, data_port, round_now;
static int control, data, phase = 1, owes_crashnode, in_barrier, asking;
static unsigned char *table, *answered;

static void send_message(const char* type, const void* payload, size_t size) {
  send_control(control, type, payload, size);
}

__attribute__((format(printf, 2, 3))) static void say(const char* type, const char* format, ...) {
  char what[500], line[600];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  const int size = snprintf(line, sizeof line, "recovery %u/%u: %s\n", number, total, what);
  send_message(type, line, (size_t)size + 1);
}

__attribute__((noreturn)) static void fault(const char* what, uint32_t value) {
  fault_of(control, number, what, value);
}

static int is_death(const char* when) {
  for (int i = 0; i < options.deaths; ++i) {
    const struct death* death = &options.death[i];
    if (strcmp(death->when, when) == 0 && death->process == (int)number &&
        (death->phase == 0 || death->phase == phase))
      return 1;
  }
  return 0;
}

static void maybe_die(const char* when) {
  if (is_death(when)) kill(getpid(), SIGKILL);
}

// ---- the data network: {magic, kind, from, to, round}; kind 1 asks, 2 answers

static void send_datagram(uint32_t kind, uint32_t to) {
  unsigned char bytes[20];
  const uint32_t fields[5] = {kMagic, kind, number, to, round_now};
  for (int i = 0; i < 5; ++i) put(bytes + 4 * i, fields[i]);
  const struct sockaddr_in address = address_in(table, to);
  sendto(data, bytes, sizeof bytes, MSG_DONTWAIT, (const struct sockaddr*)&address, sizeof address);
}

static void receive_datagrams(void) {
  unsigned char bytes[64];
  ssize_t size;
  while (table != NULL && (size = recv(data, bytes, sizeof bytes, MSG_DONTWAIT)) >= 0) {
    if (size != 20 || get(bytes) != kMagic || get(bytes + 8) >= total || get(bytes + 12) != number) continue;
    if (get(bytes + 4) == 1) send_datagram(2, get(bytes + 8));
    if (get(bytes + 4) == 2 && asking) {
      answered[get(bytes + 8)] = 1;
      if (get(bytes + 16) > round_now) round_now = get(bytes + 16);
    }
  }
}

// ---- the control socket

static void take_table(const unsigned char* payload, uint32_t length) {
  if (length < 8 || length != 8 + (uint64_t)kEntry * get(payload)) fault("a table of the wrong size", length);
  if (get(payload + 4) != number) fault("the table of another process", get(payload + 4));
  if (table != NULL && get(payload) != total) fault("a table of another size", get(payload));
  if (owes_crashnode) fault("a second table without `crashnode`", 0);
  owes_crashnode = table != NULL;
  total = get(payload);
  if (table == NULL) table = malloc((size_t)kEntry * total), answered = calloc(total, 1);
  memcpy(table, payload + 8, (size_t)kEntry * total);
  for (uint32_t i = 0; i < total; ++i) {
    if (get(table + (size_t)kEntry * i) != i) fault("a table out of order", i);
  }
  if (get(table + (size_t)kEntry * number + 12) != data_port) fault("a table without my port", data_port);
}

static void take_crashnode(const unsigned char* payload, uint32_t length) {
  if (!owes_crashnode) fault("`crashnode` without a table", 0);
  if (length != 4 || get(payload) >= total || get(payload) == number) fault("a wrong `crashnode`", length);
  owes_crashnode = 0;
  maybe_die("ack");
  rest(options.ack_delay);
  say("print", "knows of %u", get(payload));
  send_message("crash_ack", NULL, 0);
}

static void take(const char* type, const unsigned char* payload, uint32_t length) {
  if (strcmp(type, "initnodetab") == 0) {
    take_table(payload, length);
  } else if (table == NULL) {
    fault("something before the table", length);
  } else if (strcmp(type, "crashnode") == 0) {
    take_crashnode(payload, length);
  } else if (strcmp(type, "die") == 0) {
    _exit(0);
  } else if (strcmp(type, "barrier") == 0 && in_barrier) {
    in_barrier = 0;
  } else {
    fault("an unexpected message", length);
  }
}

static void turn(int64_t ms) {
  struct pollfd polls[2] = {{control, POLLIN, 0}, {data, POLLIN, 0}};
  poll(polls, 2, ms > 0 ? (int)ms : 0);
  receive_datagrams();
  if (!read_control(control, take)) _exit(1);  // "Socket closed before recv."
}

// ---- the run

static void wait_for_table(void) {
  const int64_t deadline = now_ms() + kPatienceMs;
  while (table == NULL) {
    if (now_ms() > deadline) fault("no table", 0);
    turn(1000);
  }
}

static void catch_up(void) {
  const int64_t deadline = now_ms() + kPatienceMs;
  asking = 1;
  for (;;) {
    uint32_t silent = 0;
    for (uint32_t i = 0; i < total; ++i) {
      if (i == number || answered[i]) continue;
      ++silent;
      send_datagram(1, i);
    }
    if (silent == 0) break;
    if (now_ms() > deadline) fault("no answer on the data network", silent);
    turn(kResendMs);
  }
  asking = 0;
}

static void one_round(void) {
  for (int64_t until = now_ms() + (int64_t)(options.step * 1000); now_ms() < until;) turn(until - now_ms());
  in_barrier = 1;
  send_message("barrier", NULL, 0);
  while (in_barrier) turn(1000);
  ++round_now;
  if (round_now != 1) return;
  maybe_die("round");
  if (is_death("abort")) fault("asked to abort", 0);
  if (!is_death("cut")) return;
  close(control);
  for (;;) pause();
}

static int parse(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "+restartisomalloc") == 0 && phase > 1) continue;
    if (i + 1 == argc) return 0;
    const char *name = argv[i], *value = argv[++i];
    struct death* death = &options.death[options.deaths];
    if (strcmp(name, "--rounds") == 0) {
      options.rounds = atoi(value);
    } else if (strcmp(name, "--step") == 0) {
      options.step = atof(value);
    } else if (strcmp(name, "--ack-delay") == 0) {
      options.ack_delay = atof(value);
    } else if (strcmp(name, "--die") == 0 && options.deaths < kMostDeaths &&
               sscanf(value, "%15[a-z]:%d:%d", death->when, &death->process, &death->phase) == 3) {
      ++options.deaths;
    } else if (strcmp(name, "+restartaftercrash") == 0) {
      phase = atoi(value);
    } else {
      return 0;
    }
  }
  return 1;
}

int main(int argc, char** argv) {
  char launcher[1024];
  int assigned, port, pid, zero;
  if (!parse(argc, argv)) return fputs(kUsage, stderr), 2;
  signal(SIGTERM, SIG_IGN);
  signal(SIGQUIT, SIG_IGN);
  const char* netstart = getenv("NETSTART");
  if (netstart == NULL || sscanf(netstart, "%d%1023s%d%d%d", &assigned, launcher, &port, &pid, &zero) != 5)
    return fputs("recovery_double: no usable NETSTART\n", stderr), 2;
  number = (uint32_t)assigned;
  maybe_die("start");
  data = open_data(&data_port);
  control = connect_control(launcher, port);
  unsigned char initnode[kInitnode] = {0};
  fill_initnode(initnode, number, data_port);
  send_message("initnode", initnode, sizeof initnode);
  maybe_die("joined");
  wait_for_table();
  maybe_die("table");
  char host[100] = "";
  gethostname(host, sizeof host - 1);
  say("print", "phase %d on %s", phase, host);
  if (phase > 1) catch_up();
  while (round_now < (uint32_t)options.rounds) one_round();
  if (number == 0) say("print", "ok after %u rounds", round_now);
  send_message("ending", "0", 2);
  maybe_die("ended");
  for (;;) turn(1000);
}
