// SPDX-License-Identifier: Apache-2.0
// What the C programs of the benchmarks have in common.
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline double now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

__attribute__((noreturn)) static inline void give_up(const char* what) {
  perror(what);
  exit(2);
}
