/* SPDX-License-Identifier: Apache-2.0
 * mpi_stays SECONDS: an MPI program that says its rank and stays.
 */
#include <mpi.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char** words) {
  MPI_Init(&count, &words);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  printf("%d of %d\n", rank, size);
  fflush(stdout);
  if (count > 1) poll(NULL, 0, 1000 * atoi(words[1]));
  return MPI_Finalize();
}
