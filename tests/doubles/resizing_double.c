// SPDX-License-Identifier: Apache-2.0
// A program that talks to its launcher as a stock Charm++ process of a shrink/expand build does: process 0
// asks for another number of processes; everybody then waits for `realloc_ack` and heeds nothing else; those
// that stay execute themselves anew, with the NETSTART that they have, and the others leave. At the end only
// process 0 says so, with an empty `ending`, and everybody waits again. Each stage has one barrier, and
// process 0 asks every other by the data network who it is.
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/wait.h>

#include "tests/doubles/charm_wire.h"

static const char kUsage[] =
    "resizing_double [options]   (started by a launcher)\n"
    "  --sizes N,N...          so many processes in the stages behind the first\n"
    "  --before COMMAND        process 0 runs it before it asks, with the new number as argument\n"
    "  +shrinkexpand_basedir DIR   as real ones: what +restart is given\n";

enum { kMostSizes = 8, kMagic = 0x52657353, kResendMs = 50, kPatienceMs = 60000 };

static uint32_t number, total, data_port, sizes[kMostSizes], heard;
static int control, data, stages, stage, old_number = -1, in_barrier, let_go, waiting;
static unsigned char *table, *answered;
static const char *before, *folder = "/dev/shm", *restart = "";

__attribute__((format(printf, 1, 2))) static void say(const char* format, ...) {
  char what[500], line[600];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  const int size = snprintf(line, sizeof line, "resizing %u/%u: %s\n", number, total, what);
  send_control(control, "print", line, (size_t)size + 1);
}

__attribute__((noreturn)) static void fault(const char* what, uint32_t value) {
  fault_of(control, number, what, value);
}

// ---- the data network: {magic, kind, from, to}; kind 1 asks, 2 answers

static void send_datagram(uint32_t kind, uint32_t to) {
  unsigned char bytes[16];
  const uint32_t fields[4] = {kMagic, kind, number, to};
  for (int i = 0; i < 4; ++i) put(bytes + 4 * i, fields[i]);
  const struct sockaddr_in address = address_in(table, to);
  sendto(data, bytes, sizeof bytes, MSG_DONTWAIT, (const struct sockaddr*)&address, sizeof address);
}

static void receive_datagrams(void) {
  unsigned char bytes[64];
  ssize_t size;
  while (table != NULL && (size = recv(data, bytes, sizeof bytes, MSG_DONTWAIT)) >= 0) {
    if (size != 16 || get(bytes) != kMagic || get(bytes + 8) >= total || get(bytes + 12) != number) continue;
    if (get(bytes + 4) == 1) send_datagram(2, get(bytes + 8));
    if (get(bytes + 4) == 2 && !answered[get(bytes + 8)]) answered[get(bytes + 8)] = 1, ++heard;
  }
}

// ---- the control socket

static void check_table(void) {
  uint32_t host_first = 0, host_count = 0;
  for (uint32_t i = 0; i < total; ++i) {
    const unsigned char* entry = table + (size_t)kEntry * i;
    if (get(entry) != i) fault("a table out of order", i);
    if (i == host_first + host_count) {
      host_first = i;
      host_count = get(entry + 4);
      if (host_count == 0 || host_count > total - i)
        fault("a wrong number of processes on a host", host_count);
    } else if (get(entry + 4) != host_count || memcmp(entry + 20, entry - kEntry + 20, 4) != 0) {
      fault("processes of one host differ", i);
    }
  }
  if (get(table + (size_t)kEntry * number + 12) != data_port) fault("a table without my port", data_port);
}

static void take(const char* type, const unsigned char* payload, uint32_t length) {
  if (strcmp(type, "realloc_ack") == 0 && table != NULL && !in_barrier) {
    let_go = 1;  // it may have come right behind the barrier's release
  } else if (waiting) {
    return;
  } else if (strcmp(type, "initnodetab") == 0 && table == NULL) {
    total = get(payload);
    number = get(payload + 4);
    if (length != 8 + (uint64_t)kEntry * total || number >= total) fault("a wrong table", length);
    table = malloc((size_t)kEntry * total);
    answered = calloc(total, 1);
    memcpy(table, payload + 8, (size_t)kEntry * total);
    check_table();
  } else if (strcmp(type, "barrier") == 0 && in_barrier) {
    in_barrier = 0;
  } else if (strcmp(type, "die") == 0) {
    _exit(0);
  } else {
    fault(type, length);
  }
}

static void turn(int ms) {
  struct pollfd polls[2] = {{control, POLLIN, 0}, {data, POLLIN, 0}};
  poll(polls, 2, ms);
  receive_datagrams();
  if (!read_control(control, take)) _exit(1);
}

// ---- the run

static void exchange(void) {
  const int64_t deadline = now_ms() + kPatienceMs;
  while (heard < total - 1) {
    for (uint32_t i = 1; i < total; ++i) {
      if (!answered[i]) send_datagram(1, i);
    }
    if (now_ms() > deadline) fault("no answer on the data network", total - 1 - heard);
    turn(kResendMs);
  }
}

static void barrier(void) {
  if (total == 1) return;
  in_barrier = 1;
  send_control(control, "barrier", NULL, 0);
  while (in_barrier) turn(1000);
}

static void wait_to_be_let_go(void) {
  const int64_t deadline = now_ms() + kPatienceMs;
  waiting = 1;
  while (!let_go) {
    if (now_ms() > deadline) _exit(3);
    turn(1000);
  }
  close(control);
}

// As the real one: what it was started with, and behind that what it is now.
static void execute_anew(char** argv, uint32_t size) {
  char new_size[16], new_number[16], old[16];
  const char* more[10] = {"+shrinkexpand", "+newnumpes", new_size, "+mynewpe", new_number, "+myoldpe", old};
  snprintf(new_size, sizeof new_size, "%u", size);
  snprintf(new_number, sizeof new_number, "%u", number);
  snprintf(old, sizeof old, "%u", number);
  int argc = 0, count = 7;
  while (argv[argc] != NULL) ++argc;
  char** arguments = calloc((size_t)argc + 12, sizeof *arguments);
  memcpy(arguments, argv, (size_t)argc * sizeof *arguments);
  if (restart[0] == '\0') more[count++] = "+restart", more[count++] = folder;
  for (int i = 0; i < count; ++i) arguments[argc + i] = strdup(more[i]);
  for (int fd = 3; fd < 20; ++fd) close(fd);
  execv("/proc/self/exe", arguments);
  _exit(4);
}

static void run_before(uint32_t size) {
  char text[16];
  int status = 0;
  if (before == NULL) return;
  snprintf(text, sizeof text, "%u", size);
  const pid_t pid = fork();
  if (pid == 0) {
    execl(before, before, text, (char*)NULL);
    _exit(127);
  }
  if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) fault("the command failed", size);
}

static void resize(char** argv, uint32_t size) {
  if (number == 0) {
    run_before(size);
    unsigned char payload[4];
    put(payload, size);
    send_control(control, "realloc", payload, 4);
  }
  wait_to_be_let_go();
  if (number < size) execute_anew(argv, size);
  exit(0);
}

static int parse(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "+shrinkexpand") == 0) continue;
    if (i + 1 == argc) return 0;
    const char *name = argv[i], *value = argv[++i];
    if (strcmp(name, "--sizes") == 0) {
      char copy[200];
      snprintf(copy, sizeof copy, "%s", value);
      for (char* word = strtok(copy, ","); word != NULL && stages < kMostSizes; word = strtok(NULL, ","))
        sizes[stages++] = (uint32_t)atoi(word);
    } else if (strcmp(name, "--before") == 0) {
      before = value;
    } else if (strcmp(name, "+shrinkexpand_basedir") == 0) {
      folder = value;
    } else if (strcmp(name, "+restart") == 0) {
      restart = value;
    } else if (strcmp(name, "+myoldpe") == 0) {
      old_number = atoi(value);
    } else if (strcmp(name, "+newnumpes") != 0 && strcmp(name, "+mynewpe") != 0) {
      return 0;
    }
  }
  return 1;
}

int main(int argc, char** argv) {
  char launcher[1024], host[100] = "";
  int assigned, port, pid, zero;
  if (!parse(argc, argv)) return fputs(kUsage, stderr), 2;
  const char* netstart = getenv("NETSTART");
  if (netstart == NULL || sscanf(netstart, "%d%1023s%d%d%d", &assigned, launcher, &port, &pid, &zero) != 5)
    return fputs("resizing_double: no usable NETSTART\n", stderr), 2;
  data = open_data(&data_port);
  control = connect_control(launcher, port);
  unsigned char initnode[kInitnode] = {0};
  fill_initnode(initnode, (uint32_t)assigned, data_port);
  send_control(control, "initnode", initnode, sizeof initnode);
  while (table == NULL) turn(1000);
  gethostname(host, sizeof host - 1);
  // Sizes differ, so the table says which stage it is.
  for (int i = 0; restart[0] != '\0' && i < stages; ++i) {
    if (sizes[i] == total) stage = i + 1;
  }
  if (restart[0] != '\0' && (stage == 0 || strcmp(restart, folder) != 0)) fault("a wrong +restart", total);
  if (old_number >= 0 && restart[0] == '\0') fault("no +restart", total);
  say("stage %d, was %d, on %s", stage, old_number, host);
  if (number == 0) exchange();
  barrier();
  if (stage < stages) resize(argv, sizes[stage]);
  if (number == 0) say("ok");
  if (number == 0) send_control(control, "ending", NULL, 0);
  wait_to_be_let_go();
  return 0;
}
