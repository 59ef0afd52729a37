// SPDX-License-Identifier: Apache-2.0
//
// Preloaded into charmrun, writes what each of its processes has used of the CPU between the start of main
// (or the fork) and its exit, as a line to $LAUNCHER_USAGE: name of the host, parent, process, microseconds.
// Takes both variables out of the environment, so that no program of the job is measured.
//
//   cc -O2 -shared -fPIC -o launcher_usage.so launcher_usage.c

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static long before_us;
static char path[512];

static long used_us(void) {
  struct rusage use;
  getrusage(RUSAGE_SELF, &use);
  return (use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1000000L + use.ru_utime.tv_usec + use.ru_stime.tv_usec;
}

static void forked(void) {
  before_us = 0;
}

__attribute__((constructor)) static void begin(void) {
  const char* value = getenv("LAUNCHER_USAGE");
  snprintf(path, sizeof path, "%s", value == NULL ? "" : value);
  unsetenv("LAUNCHER_USAGE");
  unsetenv("LD_PRELOAD");
  pthread_atfork(NULL, NULL, forked);
  before_us = used_us();
}

__attribute__((destructor)) static void end(void) {
  const long used = used_us() - before_us;
  char host[65] = "";
  char line[160];
  gethostname(host, sizeof host - 1);
  const int size = snprintf(line, sizeof line, "%s %d %d %ld\n", host, (int)getppid(), (int)getpid(), used);
  const int file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file < 0 || write(file, line, (size_t)size) != size) perror("launcher_usage");
}
