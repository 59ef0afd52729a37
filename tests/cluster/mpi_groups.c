/* SPDX-License-Identifier: Apache-2.0
 * An MPI program that makes communicators of groups, without one that has them all: of everybody, and of
 * those of even rank, twice by the same tag. Not by two threads at a time: Open MPI 5 then hangs now and
 * then, under its own mpirun as well. Needs MPI 4.
 */
#include <mpi.h>
#include <stdio.h>

static MPI_Group all;
static int rank;

/* The sum of the ranks of its processes, in MPI_COMM_WORLD. */
static int sum_of(MPI_Group group, const char* tag) {
  MPI_Comm made = MPI_COMM_NULL;
  int sum = -1;
  MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &made);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, made);
  MPI_Comm_free(&made);
  return sum;
}

int main(int count, char** words) {
  int size;
  MPI_Init(&count, &words);
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  printf("%d: of all %d\n", rank, sum_of(all, "all"));
  if (rank % 2 == 0) {
    int range[1][3] = {{0, size - 1, 2}};
    MPI_Group even;
    MPI_Group_range_incl(all, 1, range, &even);
    const int once = sum_of(even, "even");
    printf("%d: of the even ones %d, %d\n", rank, once, sum_of(even, "even"));
    MPI_Group_free(&even);
  }
  MPI_Group_free(&all);
  return MPI_Finalize();
}
