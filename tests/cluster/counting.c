/* SPDX-License-Identifier: Apache-2.0
 * counting: counts until SIGUSR1 comes, and ends well then; a debugger finds its number and how far it is.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static volatile sig_atomic_t over;
static int rank;
static volatile int counted;

static void end(int number) {
  over = number;
}

__attribute__((noinline)) static void count(int step) {
  counted = step;
  poll(NULL, 0, 20);
}

int main(void) {
  const char* number = getenv("CHARMTREE_PROCESS");
  int step = 0;
  rank = number != NULL ? atoi(number) : 0;
  signal(SIGUSR1, end);
  puts("begun");
  fflush(stdout);
  while (!over) count(++step);
  return 0;
}
