/* SPDX-License-Identifier: Apache-2.0
 * An MPI program that has others started: mpi_spawn COUNT [INFO VALUE], each of them this program again. All
 * of them, parents and children, become one communicator, in which every process speaks to every other one.
 * COUNT a,b: two programs (MPI_Comm_spawn_multiple), so many processes of each. COUNT deed DEED: the first
 * child dies or aborts (status 9), while all others wait for it; or what is to be started is missing. A
 * further word: nothing of that.
 */
#include <mpi.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int count, char** words) {
  MPI_Init(&count, &words);
  MPI_Comm parent, children, all;
  int rank, size, *number = NULL, is_known = 0;
  char host[256] = "", folder[256] = "";
  gethostname(host, sizeof host - 1);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &is_known);
  MPI_Comm_get_parent(&parent);
  const int is_child = parent != MPI_COMM_NULL;
  if (is_child) {
    children = parent;
    const int dies = !strcmp(words[1], "die"), aborts = !strcmp(words[1], "abort");
    if ((dies || aborts) && rank != 0) pause();  // who speaks to it may abort before its end is known
    if (dies || aborts) poll(NULL, 0, 500);      // until the others are here
    if (dies) raise(SIGKILL);
    if (aborts) MPI_Abort(MPI_COMM_WORLD, 9);
    printf("child %d of %d: program %d, %s, on %s in %s\n", rank, size, is_known ? *number : -1, words[1],
           host, getcwd(folder, sizeof folder - 1));
  } else {
    MPI_Info info;
    MPI_Info_create(&info);
    const char* deed = count == 4 && !strcmp(words[2], "deed") ? words[3] : NULL;
    if (count == 4 && !deed) MPI_Info_set(info, words[2], words[3]);
    const char* comma = strchr(words[1], ',');
    char* arguments[2][3] = {{"first child", NULL, NULL}, {"second child", NULL, NULL}};
    char* commands[2] = {words[0], words[0]};
    if (deed) arguments[0][0] = words[3];
    if (deed && !strcmp(deed, "missing")) commands[0] = "/nowhere/child";
    char** all_arguments[2] = {arguments[0], arguments[1]};
    int counts[2] = {atoi(words[1]), comma ? atoi(comma + 1) : 0}, codes[64];
    MPI_Info infos[2] = {info, info};
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    const int error = comma ? MPI_Comm_spawn_multiple(2, commands, all_arguments, counts, infos, 0,
                                                      MPI_COMM_WORLD, &children, codes)
                            : MPI_Comm_spawn(commands[0], arguments[0], counts[0], info, 0, MPI_COMM_WORLD,
                                             &children, codes);
    if (error != MPI_SUCCESS) {
      printf("parent %d: nobody is started\n", rank);
      MPI_Finalize();
      return 0;
    }
    if (deed) pause();
  }
  MPI_Intercomm_merge(children, is_child, &all);
  int whole, place, good = 1;
  MPI_Comm_size(all, &whole);
  MPI_Comm_rank(all, &place);
  int* numbers = calloc(2 * (size_t)whole, sizeof(int));
  for (int i = 0; i < whole; ++i) numbers[i] = place * 1000 + i;
  MPI_Alltoall(numbers, 1, MPI_INT, numbers + whole, 1, MPI_INT, all);
  for (int i = 0; i < whole; ++i) good = good && numbers[whole + i] == i * 1000 + place;
  printf("%s %d: %d of %d: %s\n", is_child ? "child" : "parent", rank, place, whole, good ? "good" : "wrong");
  fflush(stdout);
  MPI_Comm_free(&all);
  MPI_Comm_disconnect(&children);
  MPI_Finalize();
  return 0;
}
