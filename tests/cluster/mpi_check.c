/* SPDX-License-Identifier: Apache-2.0
 * An MPI program. Every process speaks to every other one, so that each address which it has got is used.
 * mpi_check [DEED RANK]: there, abort (status 7), kill (itself) or leave (without MPI_Finalize), while the
 * others wait: who speaks to it may abort before its end is known; or exit (5, when all is done).
 */
#include <mpi.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int does(int count, char** words, const char* deed, int rank) {
  return count == 3 && strcmp(words[1], deed) == 0 && atoi(words[2]) == rank;
}

int main(int count, char** words) {
  MPI_Init(&count, &words);
  int rank, size, sum = 0, good = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (count == 3) {  // until all are here, and have taken notice of that
    MPI_Barrier(MPI_COMM_WORLD);
    poll(NULL, 0, atoi(words[2]) == rank ? 500 : 0);
  }
  if (does(count, words, "abort", rank)) MPI_Abort(MPI_COMM_WORLD, 7);
  if (does(count, words, "kill", rank)) raise(SIGKILL);
  if (does(count, words, "leave", rank)) _exit(0);
  if (count == 3 && strcmp(words[1], "exit") != 0 && strcmp(words[1], "never") != 0) pause();

  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  int* counts = calloc(4 * (size_t)size, sizeof(int));
  int *places = counts + size, *out = places + size, *in = out + size;
  for (int i = 0; i < size; ++i) {
    counts[i] = 1;
    places[i] = i;
    out[i] = rank * 1000 + i;
  }
  MPI_Alltoallv(out, counts, places, MPI_INT, in, counts, places, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < size; ++i) good = good && in[i] == i * 1000 + rank;
  good = good && sum == size * (size - 1) / 2;
  printf("%d of %d: %s\n", rank, size, good ? "good" : "wrong");
  MPI_Finalize();
  return does(count, words, "exit", rank) ? 5 : 0;
}
