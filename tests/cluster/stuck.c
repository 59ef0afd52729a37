/* SPDX-License-Identifier: Apache-2.0
 * stuck NUMBER: the process of that number computes in one function, all others wait in another; each ends
 * well when SIGUSR1 comes. Of a deeper stack than it needs, as programs have.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile sig_atomic_t over;

static void end(int number) {
  over = number;
}

__attribute__((noinline)) static void compute_for_ever(void) {
  while (!over) continue;
}

__attribute__((noinline)) static void wait_for_neighbours(const sigset_t* others) {
  while (!over) sigsuspend(others);
}

__attribute__((noinline)) static void step(int stuck, const sigset_t* others) {
  if (stuck)
    compute_for_ever();
  else
    wait_for_neighbours(others);
  puts("done");
}

int main(int count, char** words) {
  const char* number = getenv("CHARMTREE_PROCESS");
  const int stuck = count > 1 && number != NULL && atoi(number) == atoi(words[1]);
  sigset_t usr1, others;
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  if (!stuck) sigprocmask(SIG_BLOCK, &usr1, &others);
  signal(SIGUSR1, end);
  puts("begun");
  fflush(stdout);
  step(stuck, &others);
  return 0;
}
