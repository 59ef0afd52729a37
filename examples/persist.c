/* SPDX-License-Identifier: Apache-2.0 */
/* persist FOLDER [steps [milliseconds]]: a program that can be started again at any time, with as many
 * processes as there are then, and comes to the same result:
 *
 *     charmrun +p8 ++nodelist nodes ++on-failure restart ++restart-args "" ./persist data
 *
 * Its ELEMENTS are dealt out to the processes. Every few steps each process writes the state of its own to
 * FOLDER, which all hosts share; who begins looks for the last step of which everything has been written. */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "charmtree.h"

enum { ELEMENTS = 24, EVERY = 5 };

static uint32_t read_element(const char* folder, int element, int step, int* found) {
  char path[4096];
  uint32_t value = 0;
  snprintf(path, sizeof path, "%s/%d.%d", folder, element, step);
  FILE* file = fopen(path, "r");
  *found = file != NULL && fscanf(file, "%" SCNu32, &value) == 1;
  if (file != NULL) fclose(file);
  return value;
}

/* A file is there as a whole or not at all. */
static int write_element(const char* folder, int element, int step, uint32_t value) {
  char path[4096], whole[4096];
  snprintf(path, sizeof path, "%s/%d.part", folder, element);
  snprintf(whole, sizeof whole, "%s/%d.%d", folder, element, step);
  FILE* file = fopen(path, "w");
  if (file == NULL) return -1;
  const int written = fprintf(file, "%" PRIu32 "\n", value) > 0;
  return fclose(file) == 0 && written && rename(path, whole) == 0 ? 0 : -1;
}

/* The last step of which there is every element; 0: none. */
static int last_complete(const char* folder, int steps) {
  for (int step = steps - steps % EVERY; step > 0; step -= EVERY) {
    int found = 1;
    for (int element = 0; element < ELEMENTS && found; ++element) read_element(folder, element, step, &found);
    if (found) return step;
  }
  return 0;
}

static int work(ct_job* job, const char* folder, int steps, int pause) {
  const int rank = ct_rank(job), size = ct_size(job);
  uint32_t values[ELEMENTS];
  int found = 1;
  int step = last_complete(folder, steps);
  char line[80];
  snprintf(line, sizeof line, "process %d of %d goes on from step %d\n", rank, size, step);
  int error = ct_print(job, CT_STDOUT, line);
  if (error >= 0) error = ct_barrier(job); /* nobody writes before everybody has looked */
  for (int i = rank; i < ELEMENTS; i += size)
    values[i] = step > 0 ? read_element(folder, i, step, &found) : (uint32_t)i;
  while (step < steps && error >= 0) {
    poll(NULL, 0, pause); /* its work */
    for (int i = rank; i < ELEMENTS; i += size) values[i] = values[i] * 1664525 + 1013904223;
    ++step;
    for (int i = rank; i < ELEMENTS && step % EVERY == 0; i += size) {
      if (write_element(folder, i, step, values[i]) < 0) {
        perror(folder);
        exit(1);
      }
    }
    error = ct_barrier(job);
  }
  if (error < 0 || rank != 0) return error;
  uint32_t result = 0;
  for (int i = 0; i < ELEMENTS; ++i)
    result ^= read_element(folder, i, step - step % EVERY, &found) + (uint32_t)i;
  snprintf(line, sizeof line, "result %" PRIu32 "\n", result);
  return ct_print(job, CT_STDOUT, line);
}

int main(int argc, char** argv) {
  if (argc < 2) {
    fprintf(stderr, "persist FOLDER [steps [milliseconds]]\n");
    return 2;
  }
  ct_job* job;
  int error = ct_init(&job);
  if (error >= 0) {
    error = work(job, argv[1], argc > 2 ? atoi(argv[2]) : 20, argc > 3 ? atoi(argv[3]) : 10);
    ct_finalize(job, error < 0);
  }
  if (error < 0) fprintf(stderr, "persist: %s\n", ct_strerror(error));
  return error < 0;
}
