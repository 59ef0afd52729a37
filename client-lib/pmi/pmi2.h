/* SPDX-License-Identifier: Apache-2.0 */
/* pmi2.h: PMI-2, as programs know it from MPICH and Slurm, by charmtree's own libpmi2.so: see pmi.h, all of
 * which is so here, with PMI2_KVS_Fence for its barrier. A process uses one of the two. Who waits for an
 * attribute of the host gets PMI2_ERR_INVALID_KEY when a process of the host is lost.
 *
 * What is always PMI2_FAIL: names to be published, spawned processes, and other jobs. */
#ifndef PMI2_H_INCLUDED
#define PMI2_H_INCLUDED

#ifdef __cplusplus
extern "C" {
#endif

/* With the final 0. */
#define PMI2_MAX_KEYLEN 64
#define PMI2_MAX_VALLEN 1024
#define PMI2_MAX_ATTRVALUE 1024
#define PMI2_ID_NULL -1

#define PMI2_SUCCESS 0
#define PMI2_FAIL -1
#define PMI2_ERR_INIT 1 /* PMI2_Init was not called, or PMI2_Finalize was */
#define PMI2_ERR_NOMEM 2
#define PMI2_ERR_INVALID_ARG 3
#define PMI2_ERR_INVALID_KEY 4 /* of a get: nobody has put it */
#define PMI2_ERR_INVALID_KEY_LENGTH 5
#define PMI2_ERR_INVALID_VAL 6
#define PMI2_ERR_INVALID_VAL_LENGTH 7
#define PMI2_ERR_INVALID_LENGTH 8 /* what would be written does not fit */
#define PMI2_ERR_INVALID_NUM_ARGS 9
#define PMI2_ERR_INVALID_ARGS 10
#define PMI2_ERR_INVALID_NUM_PARSED 11
#define PMI2_ERR_INVALID_KEYVALP 12
#define PMI2_ERR_INVALID_SIZE 13
#define PMI2_ERR_OTHER 14

typedef struct PMI2_Connect_comm {
  int (*read)(void* buf, int maxlen, void* ctx);
  int (*write)(const void* buf, int len, void* ctx);
  void* ctx;
  int isMaster;
} PMI2_Connect_comm_t;

typedef struct MPID_Info {
  int handle;
  int pobj_mutex;
  int ref_count;
  struct MPID_Info* next;
  char* key;
  char* value;
} MPID_Info;
#define PMI2U_Info MPID_Info

/* The process and its job. `spawned` and `appnum` are always 0; a second PMI2_Init changes nothing. */
int PMI2_Init(int* spawned, int* size, int* rank, int* appnum);
/* Waits until all have called it. */
int PMI2_Finalize(void);
int PMI2_Initialized(void);
/* Ends the job with exit status 1, or, if `flag` is 0, this process alone; does not return. */
int PMI2_Abort(int flag, const char msg[]);
int PMI2_Job_GetId(char jobid[], int jobid_size);
int PMI2_Job_GetRank(int* rank);
/* Processes of this host. */
int PMI2_Info_GetSize(int* size);
int PMI2_Job_Spawn(int count, const char* cmds[], int argcs[], const char** argvs[], const int maxprocs[],
                   const int info_keyval_sizes[], const struct MPID_Info* info_keyval_vectors[],
                   int preput_keyval_size, const struct MPID_Info* preput_keyval_vector[], char jobId[],
                   int jobIdSize, int errors[]);
int PMI2_Job_Connect(const char jobid[], PMI2_Connect_comm_t* conn);
int PMI2_Job_Disconnect(const char jobid[]);

/* Values with keys. It does not matter who has put one, so that src_pmi_id is not looked at; jobid: null, or
 * that of this job. One that does not fit is cut, and *vallen is its length, negated. */
int PMI2_KVS_Put(const char key[], const char value[]);
int PMI2_KVS_Fence(void);
int PMI2_KVS_Get(const char* jobid, int src_pmi_id, const char key[], char value[], int maxvalue,
                 int* vallen);

/* Values of the neighbours in the ring of all processes, which all call it together. */
#define HAVE_PMIX_RING 1
int PMIX_Ring(const char value[], int* rank, int* ranks, char left[], char right[], int maxvalue);

/* Of the host: what its processes have put, at once and without a fence, 1024 at most of each host; and
 * localRanksCount and localRanks, as arrays. Of the job: universeSize, hasNameServ (FALSE) and
 * PMI_process_mapping. */
int PMI2_Info_GetNodeAttr(const char name[], char value[], int valuelen, int* found, int waitfor);
int PMI2_Info_GetNodeAttrIntArray(const char name[], int array[], int arraylen, int* outlen, int* found);
int PMI2_Info_PutNodeAttr(const char name[], const char value[]);
int PMI2_Info_GetJobAttr(const char name[], char value[], int valuelen, int* found);
int PMI2_Info_GetJobAttrIntArray(const char name[], int array[], int arraylen, int* outlen, int* found);

int PMI2_Nameserv_publish(const char service_name[], const struct MPID_Info* info_ptr, const char port[]);
int PMI2_Nameserv_lookup(const char service_name[], const struct MPID_Info* info_ptr, char port[],
                         int portLen);
int PMI2_Nameserv_unpublish(const char service_name[], const struct MPID_Info* info_ptr);

#ifdef __cplusplus
}
#endif

#endif
