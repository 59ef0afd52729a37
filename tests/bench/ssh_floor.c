// SPDX-License-Identifier: Apache-2.0
//
// The floor under any launcher that uses ssh: how long N logins take that run side by side, from
// one process, and do nothing else. A thread per host connects, logs in with ~/.ssh/id_ed25519,
// runs one command and waits for its first byte. Host keys are NOT checked and nothing is
// retried: this is a yardstick, not a tool to log in with.
//
//   cc -O2 -o ssh_floor ssh_floor.c -lssh2 -lpthread
//   ssh_floor [-c command] [-t seconds] [-o | -e times] host...
//
// By the cipher that charmrun uses, on one host: -o writes all that the command prints to stdout instead; -e
// sends the command (cat) a message and waits until it is back, so many times, and prints the median of what
// that takes, `74.3 us`.
// Prints `64 hosts 0.973 s` (from the start to the first byte of the last host), and the median and
// the quickest login. Status 1 if any host failed; each failure is one line on standard error.

#include <errno.h>
#include <libssh2.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "tests/bench/bench.h"

enum { kMaxHosts = 4096, kStackBytes = 512 * 1024, kReadBytes = 64 * 1024, kMessage = 64 };

// What all threads read.
struct Plan {
  const char* command;
  const char* user;
  char private_key[512];
  char public_key[520];
  long timeout_s;
  int passes_output;
  int echoes;  // 0: none
  double begin;
};

// One host: filled in by its thread, read after it has been joined.
struct Login {
  const struct Plan* plan;
  const char* host;
  pthread_t thread;
  double first_byte_s;  // since the start; meaningful without an error
  char error[256];      // empty: success
};

// Returns a connected socket, or -1 with the error said. SO_SNDTIMEO bounds connect() as well.
static int open_connection(struct Login* login) {
  const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
  struct addrinfo* found = NULL;
  const int failed = getaddrinfo(login->host, "22", &hints, &found);
  if (failed != 0) {
    snprintf(login->error, sizeof login->error, "resolve: %s", gai_strerror(failed));
    return -1;
  }
  const int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const struct timeval limit = {.tv_sec = login->plan->timeout_s};
  const int on = 1;
  int result = fd < 0 ? -1 : 0;
  if (result == 0) {
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    result = connect(fd, found->ai_addr, found->ai_addrlen);
  }
  const int why = errno == EINPROGRESS ? ETIMEDOUT : errno;
  freeaddrinfo(found);
  if (result == 0) return fd;
  snprintf(login->error, sizeof login->error, "connect: %s", strerror(why));
  if (fd >= 0) close(fd);
  return -1;
}

static void say_error(struct Login* login, LIBSSH2_SESSION* session, const char* phase) {
  char* text = NULL;
  libssh2_session_last_error(session, &text, NULL, 0);
  snprintf(login->error, sizeof login->error, "%s: %s", phase, text ? text : "no reason given");
}

static void pass_output(struct Login* login, LIBSSH2_SESSION* session, LIBSSH2_CHANNEL* channel) {
  static char buffer[kReadBytes];
  ssize_t got;
  while ((got = libssh2_channel_read(channel, buffer, sizeof buffer)) > 0) {
    for (ssize_t done = 0, put; done < got; done += put) {
      put = write(STDOUT_FILENO, buffer + done, (size_t)(got - done));
      if (put < 0) {
        snprintf(login->error, sizeof login->error, "write: %s", strerror(errno));
        return;
      }
    }
  }
  if (got < 0) say_error(login, session, "read");
}

static int by_time(const void* left, const void* right) {
  const double a = *(const double*)left;
  const double b = *(const double*)right;
  return (a > b) - (a < b);
}

static int echo(LIBSSH2_CHANNEL* channel) {
  char message[kMessage] = {0};
  if (libssh2_channel_write(channel, message, sizeof message) != kMessage) return 0;
  for (size_t have = 0; have < kMessage;) {
    const ssize_t got = libssh2_channel_read(channel, message, sizeof message - have);
    if (got <= 0) return 0;
    have += (size_t)got;
  }
  return 1;
}

static void time_echoes(struct Login* login, LIBSSH2_SESSION* session, LIBSSH2_CHANNEL* channel) {
  const int count = login->plan->echoes;
  double* times = calloc((size_t)count, sizeof *times);
  for (int i = 0; i < count; ++i) {
    const double begin = now_s();
    if (times == NULL || !echo(channel)) {
      say_error(login, session, "echo");
      free(times);
      return;
    }
    times[i] = now_s() - begin;
  }
  qsort(times, (size_t)count, sizeof *times, by_time);
  printf("%.1f us\n", 1e6 * times[count / 2]);
  free(times);
}

// Logs in, runs the command, and stamps its first byte.
static void use_session(struct Login* login, LIBSSH2_SESSION* session, int fd) {
  const struct Plan* plan = login->plan;
  if (libssh2_session_handshake(session, fd) != 0) {
    say_error(login, session, "handshake");
    return;
  }
  if (libssh2_userauth_publickey_fromfile(session, plan->user, plan->public_key, plan->private_key, "") !=
      0) {
    say_error(login, session, "authenticate");
    return;
  }
  LIBSSH2_CHANNEL* channel = libssh2_channel_open_session(session);
  if (channel == NULL || libssh2_channel_exec(channel, plan->command) != 0) {
    say_error(login, session, "run");
    return;
  }
  if (plan->passes_output) {
    pass_output(login, session, channel);
    return;
  }
  if (plan->echoes > 0) {
    time_echoes(login, session, channel);
    return;
  }
  char byte = 0;
  const ssize_t got = libssh2_channel_read(channel, &byte, 1);
  if (got == 1) {
    login->first_byte_s = now_s() - plan->begin;
  } else if (got == 0) {
    snprintf(login->error, sizeof login->error, "read: the command printed nothing");
  } else {
    say_error(login, session, "read");
  }
}

static void* log_in(void* argument) {
  struct Login* login = argument;
  const int fd = open_connection(login);
  if (fd < 0) return NULL;
  LIBSSH2_SESSION* session = libssh2_session_init();
  if (session == NULL) {
    snprintf(login->error, sizeof login->error, "libssh2: out of memory");
  } else {
    libssh2_session_set_blocking(session, 1);
    libssh2_session_set_timeout(session, login->plan->timeout_s * 1000);
    libssh2_session_method_pref(session, LIBSSH2_METHOD_KEX, "curve25519-sha256");
    if (login->plan->passes_output || login->plan->echoes > 0) {
      const char* ciphers =
          libssh2_version(0x010b00) != NULL ? "aes128-gcm@openssh.com,aes128-ctr" : "aes128-ctr";
      libssh2_session_method_pref(session, LIBSSH2_METHOD_CRYPT_CS, ciphers);
      libssh2_session_method_pref(session, LIBSSH2_METHOD_CRYPT_SC, ciphers);
      libssh2_session_method_pref(session, LIBSSH2_METHOD_MAC_SC, "hmac-sha2-256");
    }
    use_session(login, session, fd);
    shutdown(fd, SHUT_RDWR);  // so that freeing the session sends nothing and waits for nobody
    libssh2_session_free(session);
  }
  close(fd);
  return NULL;
}

// Joins all threads and prints the result; returns the exit status.
static int report(struct Login* logins, int count, double* times) {
  int good = 0;
  for (int i = 0; i < count; ++i) {
    pthread_join(logins[i].thread, NULL);
    if (logins[i].error[0] == '\0') {
      times[good++] = logins[i].first_byte_s;
    } else {
      fprintf(stderr, "ssh_floor: %s: %s\n", logins[i].host, logins[i].error);
    }
  }
  if (good > 0 && !logins->plan->passes_output && logins->plan->echoes == 0) {
    qsort(times, (size_t)good, sizeof *times, by_time);
    printf("%d hosts %.3f s (median login %.3f s, first %.3f s)\n", good, times[good - 1], times[good / 2],
           times[0]);
  }
  return good == count ? 0 : 1;
}

static int run_all(struct Plan* plan, char** hosts, int count) {
  struct Login* logins = calloc((size_t)count, sizeof *logins);
  double* times = calloc((size_t)count, sizeof *times);
  pthread_attr_t attributes;
  if (logins == NULL || times == NULL || pthread_attr_init(&attributes) != 0) return 1;
  pthread_attr_setstacksize(&attributes, kStackBytes);
  plan->begin = now_s();
  int started = 0;
  for (; started < count; ++started) {
    struct Login* login = &logins[started];
    login->plan = plan;
    login->host = hosts[started];
    if (pthread_create(&login->thread, &attributes, log_in, login) != 0) break;
  }
  int status = report(logins, started, times);
  if (started < count) {
    fprintf(stderr, "ssh_floor: cannot start more than %d threads\n", started);
    status = 1;
  }
  pthread_attr_destroy(&attributes);
  free(times);
  free(logins);
  return status;
}

int main(int argc, char** argv) {
  struct Plan plan = {.command = "echo", .user = getenv("USER"), .timeout_s = 60};
  const char* home = getenv("HOME");
  int option = 0;
  while ((option = getopt(argc, argv, "c:t:oe:")) != -1) {
    if (option == 'c') plan.command = optarg;
    if (option == 't') plan.timeout_s = strtol(optarg, NULL, 10);
    if (option == 'o') plan.passes_output = 1;
    if (option == 'e') plan.echoes = atoi(optarg);
    if (option == '?') return 2;
  }
  const int count = argc - optind;
  const int one = plan.passes_output || plan.echoes != 0;
  if (count < 1 || (one && count > 1) || plan.echoes < 0 || count > kMaxHosts || plan.timeout_s < 1 ||
      home == NULL || plan.user == NULL) {
    fprintf(
        stderr,
        "usage: ssh_floor [-c command] [-t seconds] [-o | -e times] host...   (HOME and USER must be set)\n");
    return 2;
  }
  snprintf(plan.private_key, sizeof plan.private_key, "%s/.ssh/id_ed25519", home);
  snprintf(plan.public_key, sizeof plan.public_key, "%s.pub", plan.private_key);
  if (libssh2_init(0) != 0) return 1;
  const int status = run_all(&plan, argv + optind, count);
  libssh2_exit();
  return status;
}
