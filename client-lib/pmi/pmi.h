/* SPDX-License-Identifier: Apache-2.0 */
/* pmi.h: PMI-1, as programs know it from MPICH and Slurm, by charmtree's own libpmi.so. A program that is
 * linked with it joins the job of the charmrun that started it as one of charmtree.h does; alone it is a job
 * of one. The names, numbers and arguments are the standard's, so that it can be compiled with any other
 * pmi.h as well. Here is said what the standard leaves open.
 *
 * Values. What was put is had by the process itself at once, and by the others when a barrier has opened
 * behind it; PMI_KVS_Commit adds nothing to that. Getting a value is a read of memory that the processes of a
 * host share. Between two barriers a process puts as much as it may give a fence (CT_MAX_GIVEN, 16384 bytes
 * with a few more for each value); beyond that, PMI_KVS_Put is PMI_FAIL. Keys that begin with "PMI_" are not
 * to be put; PMI_process_mapping can be got.
 *
 * Waiting. PMI_Barrier and PMI_Finalize wait for all processes of the job, and so does the first get of
 * PMI_process_mapping: until all have called PMI_Init.
 *
 * Failure. When a process dies, charmrun ends the job; under `++on-failure continue` it goes on, and every
 * later PMI_Barrier of the others is PMI_FAIL. The library handles no signal, starts no thread, and ends the
 * program in PMI_Abort alone, whose text is all that it prints. It may be used by one thread at a time, and
 * not in a child of fork.
 *
 * What is always PMI_FAIL: names to be published, spawned processes, further key spaces, walks through one,
 * and words of a command line. */
#ifndef PMI_H
#define PMI_H

#ifdef __cplusplus
extern "C" {
#endif

#define PMI_SUCCESS 0
#define PMI_FAIL -1
#define PMI_ERR_INIT 1 /* PMI_Init was not called, or PMI_Finalize was */
#define PMI_ERR_NOMEM 2
#define PMI_ERR_INVALID_ARG 3
#define PMI_ERR_INVALID_KEY 4 /* of a get: nobody has put it */
#define PMI_ERR_INVALID_KEY_LENGTH 5
#define PMI_ERR_INVALID_VAL 6
#define PMI_ERR_INVALID_VAL_LENGTH 7
#define PMI_ERR_INVALID_LENGTH 8 /* what would be written does not fit */
#define PMI_ERR_INVALID_NUM_ARGS 9
#define PMI_ERR_INVALID_ARGS 10
#define PMI_ERR_INVALID_NUM_PARSED 11
#define PMI_ERR_INVALID_KEYVALP 12
#define PMI_ERR_INVALID_SIZE 13
#define PMI_ERR_INVALID_KVS 14 /* it is not that of PMI_KVS_Get_my_name */

typedef int PMI_BOOL;
#define PMI_TRUE 1
#define PMI_FALSE 0

/* The process and its job. `spawned` is always PMI_FALSE; a second PMI_Init changes nothing. */
int PMI_Init(int* spawned);
int PMI_Initialized(PMI_BOOL* initialized);
/* Waits until all have called it. */
int PMI_Finalize(void);
int PMI_Get_size(int* size);
int PMI_Get_rank(int* rank);
/* As PMI_Get_size. */
int PMI_Get_universe_size(int* size);
/* Always 0. */
int PMI_Get_appnum(int* appnum);
int PMI_Barrier(void);
/* Ends the job with this exit status (its last eight bits, or 1 if they are none) and does not return. */
int PMI_Abort(int exit_code, const char error_msg[]);

/* The job's name, which no other job of its hosts has; PMI_Get_id and PMI_Get_kvs_domain_id say the same.
 * `length` is the room for it, at least what the function for its maximum says. */
int PMI_Get_id(char id_str[], int length);
int PMI_Get_kvs_domain_id(char id_str[], int length);
int PMI_Get_id_length_max(int* length);

/* Those of this process's host, in their order. */
int PMI_Get_clique_size(int* size);
int PMI_Get_clique_ranks(int ranks[], int length);

/* Values with keys. Lengths are with the final 0. */
int PMI_KVS_Get_my_name(char kvsname[], int length);
int PMI_KVS_Get_name_length_max(int* length);
int PMI_KVS_Get_key_length_max(int* length);
int PMI_KVS_Get_value_length_max(int* length);
int PMI_KVS_Put(const char kvsname[], const char key[], const char value[]);
int PMI_KVS_Commit(const char kvsname[]);
int PMI_KVS_Get(const char kvsname[], const char key[], char value[], int length);
int PMI_KVS_Create(char kvsname[], int length);
int PMI_KVS_Destroy(const char kvsname[]);
int PMI_KVS_Iter_first(const char kvsname[], char key[], int key_len, char val[], int val_len);
int PMI_KVS_Iter_next(const char kvsname[], char key[], int key_len, char val[], int val_len);

int PMI_Publish_name(const char service_name[], const char port[]);
int PMI_Unpublish_name(const char service_name[]);
int PMI_Lookup_name(const char service_name[], char port[]);

typedef struct PMI_keyval_t {
  char* key;
  char* val;
} PMI_keyval_t;

int PMI_Spawn_multiple(int count, const char* cmds[], const char** argvs[], const int maxprocs[],
                       const int info_keyval_sizesp[], const PMI_keyval_t* info_keyval_vectors[],
                       int preput_keyval_size, const PMI_keyval_t preput_keyval_vector[], int errors[]);
int PMI_Parse_option(int num_args, char* args[], int* num_parsed, PMI_keyval_t** keyvalp, int* size);
int PMI_Args_to_keyval(int* argcp, char*((*argvp)[]), PMI_keyval_t** keyvalp, int* size);
int PMI_Free_keyvals(PMI_keyval_t keyvalp[], int size);
int PMI_Get_options(char* str, int* length);

#ifdef __cplusplus
}
#endif

#endif
