/* SPDX-License-Identifier: Apache-2.0 */
/* A PMIx program that outlives its process 1: the others are told by an event that it is lost, and a fence
   with it fails. Says so. Who asks for any event hears of nothing. */
#include <pmix.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t told = PTHREAD_COND_INITIALIZER;
static int lost = -1, source_rank = -1, any = 0, registered = 0;

static int fails(const char* what, pmix_status_t status) {
  if (status != PMIX_SUCCESS) fprintf(stderr, "%s: %s\n", what, PMIx_Error_string(status));
  return status != PMIX_SUCCESS;
}

static void handle(size_t id, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[],
                   size_t count, pmix_info_t* results, size_t result_count,
                   pmix_event_notification_cbfunc_fn_t done, void* data) {
  (void)id, (void)status, (void)results, (void)result_count;
  pthread_mutex_lock(&mutex);
  source_rank = (int)source->rank;
  for (size_t i = 0; i < count; ++i) {
    if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_AFFECTED_PROC)) lost = (int)info[i].value.data.proc->rank;
  }
  pthread_cond_broadcast(&told);
  pthread_mutex_unlock(&mutex);
  if (done != NULL) done(PMIX_EVENT_NO_ACTION_TAKEN, NULL, 0, NULL, NULL, data);
}

static void handle_any(size_t id, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[],
                       size_t count, pmix_info_t* results, size_t result_count,
                       pmix_event_notification_cbfunc_fn_t done, void* data) {
  (void)id, (void)status, (void)source, (void)info, (void)count, (void)results, (void)result_count;
  any = 1;
  if (done != NULL) done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

static void is_registered(pmix_status_t status, size_t id, void* data) {
  (void)id, (void)data;
  if (fails("register", status)) return;
  pthread_mutex_lock(&mutex);
  ++registered;
  pthread_cond_broadcast(&told);
  pthread_mutex_unlock(&mutex);
}

/* Until it is as large as that. */
static void await(const int* value, int least) {
  pthread_mutex_lock(&mutex);
  while (*value < least) pthread_cond_wait(&told, &mutex);
  pthread_mutex_unlock(&mutex);
}

int main(void) {
  pmix_proc_t self, all;
  pmix_status_t code = PMIX_ERR_PROC_ABORTED;
  if (fails("init", PMIx_Init(&self, NULL, 0))) return 1;
  PMIx_Register_event_handler(&code, 1, NULL, 0, handle, is_registered, NULL);
  PMIx_Register_event_handler(NULL, 0, NULL, 0, handle_any, is_registered, NULL);
  await(&registered, 2);
  PMIX_PROC_CONSTRUCT(&all);
  PMIX_LOAD_PROCID(&all, self.nspace, PMIX_RANK_WILDCARD);
  if (fails("fence", PMIx_Fence(&all, 1, NULL, 0))) return 1;
  if (self.rank == 1) raise(SIGKILL);
  await(&lost, 0);
  const pmix_status_t status = PMIx_Fence(&all, 1, NULL, 0);
  printf("%u: process %d is lost, told of %d; a fence %s%s\n", self.rank, lost, source_rank,
         status == PMIX_SUCCESS ? "succeeds" : "fails", any ? "; any event is told" : "");
  return fails("finalize", PMIx_Finalize(NULL, 0));
}
