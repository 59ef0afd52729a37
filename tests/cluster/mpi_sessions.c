/* SPDX-License-Identifier: Apache-2.0
 * An MPI program that opens MPI several times, each time by a session of its own (MPI-4), and speaks to all
 * others in each.
 */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  enum { kTimes = 3 };
  for (int time = 0; time < kTimes; ++time) {
    MPI_Session session;
    MPI_Group group;
    MPI_Comm all;
    int rank, size, sum = 0;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "all", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &all);
    MPI_Group_free(&group);
    MPI_Comm_rank(all, &rank);
    MPI_Comm_size(all, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, all);
    printf("%d: %d of %d: %s\n", time, rank, size, sum == size * (size - 1) / 2 ? "good" : "bad");
    fflush(stdout);
    MPI_Comm_free(&all);
    MPI_Session_finalize(&session);
  }
  return 0;
}
