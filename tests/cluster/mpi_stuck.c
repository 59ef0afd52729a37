/* SPDX-License-Identifier: Apache-2.0
 * An MPI program whose last process does not come to the barrier in which the others wait, until SIGUSR1.
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>

static volatile sig_atomic_t over;

static void end(int number) {
  over = number;
}

__attribute__((noinline)) static void refine_mesh(void) {
  while (!over) continue;
}

__attribute__((noinline)) static void meet(void) {
  if (MPI_Barrier(MPI_COMM_WORLD) != MPI_SUCCESS) puts("failed"); /* no call in its place */
}

int main(int count, char** words) {
  int rank, size;
  signal(SIGUSR1, end);
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  puts("begun");
  fflush(stdout);
  if (rank == size - 1) refine_mesh();
  meet();
  return MPI_Finalize();
}
