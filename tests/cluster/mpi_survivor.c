/* SPDX-License-Identifier: Apache-2.0 */
/* An MPI program that outlives its process 1 (ULFM, MPI 5): the others make a communicator of themselves, and
   go on. Each says who it is there, and what all of them sum up. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>

#include <mpi-ext.h> /* behind mpi.h */

int main(int argc, char** argv) {
  int rank, size, sum = 0;
  MPI_Comm others;
  signal(SIGPIPE, SIG_IGN); /* of a connection to who is lost */
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) raise(SIGKILL);
  const int is_told = MPI_Barrier(MPI_COMM_WORLD) != MPI_SUCCESS;
  MPIX_Comm_revoke(MPI_COMM_WORLD);
  MPIX_Comm_shrink(MPI_COMM_WORLD, &others);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, others);
  MPI_Comm_rank(others, &rank);
  MPI_Comm_size(others, &size);
  printf("%d of %d: %s, %d\n", rank, size, is_told ? "told" : "not told", sum);
  MPI_Finalize();
  return 0;
}
