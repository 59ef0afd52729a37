/* SPDX-License-Identifier: Apache-2.0
 * An MPI program. Every process speaks to every other one, so that each address which it has got is used.
 * mpi_check [DEED RANK]: there, abort (status 7; abort-0: 0), kill (itself) or leave (without MPI_Finalize),
 * while the others wait: who speaks to it may abort before its end is known; or exit (5, when all is done);
 * or publish a name, which all look up; or come to MPI_Init late. init: nothing is done between it and
 * MPI_Finalize.
 */
#include <mpi.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int count, char** words) {
  const char* number = getenv("PMIX_RANK") ? getenv("PMIX_RANK") : getenv("PMI_RANK");
  if (count == 3 && !strcmp(words[1], "late") && number && !strcmp(number, words[2])) poll(NULL, 0, 5000);
  MPI_Init(&count, &words);
  int rank, size, sum = 0, good = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const char* deed = count == 3 ? words[1] : "none";
  if (!strcmp(deed, "init")) return MPI_Finalize();
  const int is_here = count == 3 && atoi(words[2]) == rank;
  const int aborts = !strncmp(deed, "abort", 5), dies = !strcmp(deed, "kill"),
            leaves = !strcmp(deed, "leave");
  if (aborts || dies || leaves) {
    MPI_Barrier(MPI_COMM_WORLD);
    printf("%d waits\n", rank);
    fflush(stdout);
    if (!is_here) pause();
    poll(NULL, 0, 500);                         // until the others have taken notice that all are here
    if (aborts) printf("%d gives up\n", rank);  // which the C library may keep back
    if (aborts) MPI_Abort(MPI_COMM_WORLD, strcmp(deed, "abort-0") ? 7 : 0);
    if (dies) raise(SIGKILL);
    _exit(0);
  }

  if (count == 2 && !strcmp(words[1], "which")) {
    int *number = NULL, is_known = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &is_known);
    printf("%d runs program %d\n", rank, is_known ? *number : -1);
    fflush(stdout);
  }

  if (!strcmp(deed, "publish")) {
    char port[MPI_MAX_PORT_NAME] = "none";
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (is_here) MPI_Publish_name("ocean", MPI_INFO_NULL, "port#7");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Lookup_name("ocean", MPI_INFO_NULL, port);
    MPI_Barrier(MPI_COMM_WORLD);
    if (is_here) MPI_Unpublish_name("ocean", MPI_INFO_NULL, "port#7");
    MPI_Barrier(MPI_COMM_WORLD);
    const int is_gone = MPI_Lookup_name("ocean", MPI_INFO_NULL, port) != MPI_SUCCESS;
    printf("%d found %s, then %s\n", rank, port, is_gone ? "nothing" : "it again");
    fflush(stdout);
  }

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
  fflush(stdout);
  MPI_Finalize();
  return is_here && !strcmp(deed, "exit") ? 5 : 0;
}
