/* SPDX-License-Identifier: Apache-2.0 */
/* What tests/bench/output measures with, by its first argument:
     produce block|line SECONDS   lines of 100 bytes on stdout, by stdio's buffer or one write(2) each
     merge N COMMAND...           the floor: starts N of COMMAND and writes their whole lines, "[i] " before
   each sink                         counts stdin; prints bytes, and seconds from the first to the last of
   them */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kLine = 100, kRead = 1 << 16, kMostProducers = 64 };

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void write_all(const char* bytes, size_t size) {
  while (size > 0) {
    const ssize_t put = write(1, bytes, size);
    if (put < 0) exit(1);
    bytes += put;
    size -= (size_t)put;
  }
}

static int produce(int by_line, double duration) {
  char line[kLine];
  memset(line, 'x', kLine);
  line[kLine - 1] = '\n';
  const double end = seconds() + duration;
  for (unsigned i = 0; i % 1024 != 0 || seconds() < end; ++i) {
    if (by_line)
      write_all(line, kLine);
    else
      fwrite(line, 1, kLine, stdout);
  }
  return fflush(stdout) != 0;
}

struct producer {
  int fd;
  size_t held; /* of a line that is not complete */
  char buffer[2 * kRead];
  char prefix[16];
  size_t prefix_size;
};

static void merge_some(struct producer* from) {
  static char out[8 * kRead];
  const ssize_t got = read(from->fd, from->buffer + from->held, kRead);
  if (got <= 0) {
    close(from->fd);
    from->fd = -1;
    return;
  }
  const char *at = from->buffer, *end = from->buffer + from->held + got, *newline;
  size_t size = 0;
  while ((newline = memchr(at, '\n', (size_t)(end - at))) != NULL) {
    const size_t line = (size_t)(newline + 1 - at);
    memcpy(out + size, from->prefix, from->prefix_size);
    memcpy(out + size + from->prefix_size, at, line);
    size += from->prefix_size + line;
    at = newline + 1;
  }
  from->held = (size_t)(end - at);
  memmove(from->buffer, at, from->held);
  write_all(out, size);
}

static int merge(int count, char** command) {
  static struct producer producers[kMostProducers];
  struct pollfd wait_for[kMostProducers];
  if (count < 1 || count > kMostProducers) return 2;
  for (int i = 0; i < count; ++i) {
    int ends[2];
    if (pipe(ends) != 0) return 1;
    if (fork() == 0) {
      dup2(ends[1], 1);
      close(ends[0]);
      close(ends[1]);
      execvp(command[0], command);
      _exit(127);
    }
    close(ends[1]);
    producers[i].fd = ends[0];
    producers[i].prefix_size = (size_t)sprintf(producers[i].prefix, "[%d] ", i);
  }
  for (;;) {
    int open = 0;
    for (int i = 0; i < count; ++i) {
      wait_for[i] = (struct pollfd){producers[i].fd, POLLIN, 0};
      open += producers[i].fd >= 0;
    }
    if (open == 0) break;
    if (poll(wait_for, (nfds_t)count, -1) < 0) return 1;
    for (int i = 0; i < count; ++i)
      if (wait_for[i].revents != 0) merge_some(&producers[i]);
  }
  while (wait(NULL) > 0) continue;
  return 0;
}

static int sink(void) {
  static char buffer[4 * kRead];
  unsigned long long bytes = 0;
  double first = 0, last = 0;
  ssize_t got;
  while ((got = read(0, buffer, sizeof buffer)) > 0) {
    last = seconds();
    if (bytes == 0) first = last;
    bytes += (unsigned long long)got;
  }
  printf("%llu %.6f\n", bytes, last - first);
  return 0;
}

int main(int argc, char** argv) {
  if (argc == 4 && strcmp(argv[1], "produce") == 0)
    return produce(strcmp(argv[2], "line") == 0, atof(argv[3]));
  if (argc >= 4 && strcmp(argv[1], "merge") == 0) return merge(atoi(argv[2]), argv + 3);
  if (argc == 2 && strcmp(argv[1], "sink") == 0) return sink();
  return 2;
}
