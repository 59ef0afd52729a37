// SPDX-License-Identifier: Apache-2.0
// The functions of pmi.h.
#include "client-lib/pmi/pmi.h"

#include <algorithm>

#include "client-lib/pmi/pmi_job.hpp"
#include "tree/wire/pmi_standard.hpp"

using charmtree::client::copy_out;
using charmtree::client::PmiJob;
using charmtree::client::with_pmi_job;
namespace wire = charmtree::wire;

namespace {

/// The same in a key space, which is that of the job.
template <class Call>
int with_space(const char* name, Call call) noexcept {
  return with_pmi_job([&](PmiJob& job) {
    if (name == nullptr) return PMI_ERR_INVALID_ARG;
    return job.name() == name ? call(job) : PMI_ERR_INVALID_KVS;
  });
}

int tell_name(char* name, int room) {
  return with_pmi_job([&](PmiJob& job) { return copy_out(job.name(), name, room); });
}

int tell_limit(std::size_t limit, int* length) {
  return with_pmi_job([&](PmiJob&) { return copy_out(static_cast<int>(limit), length); });
}

}  // namespace

int PMI_Init(int* spawned) {
  if (spawned == nullptr) return PMI_ERR_INVALID_ARG;
  *spawned = PMI_FALSE;
  return charmtree::client::join_pmi_job();
}

int PMI_Initialized(PMI_BOOL* initialized) {
  if (initialized == nullptr) return PMI_ERR_INVALID_ARG;
  *initialized = with_pmi_job([](PmiJob&) { return PMI_SUCCESS; }) == PMI_SUCCESS ? PMI_TRUE : PMI_FALSE;
  return PMI_SUCCESS;
}

int PMI_Finalize(void) {
  return with_pmi_job([](PmiJob& job) { return job.leave(); });
}

int PMI_Get_size(int* size) {
  return with_pmi_job([&](PmiJob& job) { return copy_out(job.size(), size); });
}

int PMI_Get_rank(int* rank) {
  return with_pmi_job([&](PmiJob& job) { return copy_out(job.rank(), rank); });
}

int PMI_Get_universe_size(int* size) {
  return PMI_Get_size(size);
}

int PMI_Get_appnum(int* appnum) {
  return with_pmi_job([&](PmiJob&) { return copy_out(0, appnum); });
}

int PMI_Barrier(void) {
  return with_pmi_job([](PmiJob& job) { return job.fence(); });
}

int PMI_Abort(int exit_code, const char error_msg[]) {
  charmtree::client::pmi_job().abort(exit_code, error_msg);
}

int PMI_Get_id(char id_str[], int length) {
  return tell_name(id_str, length);
}

int PMI_Get_kvs_domain_id(char id_str[], int length) {
  return tell_name(id_str, length);
}

int PMI_Get_id_length_max(int* length) {
  return tell_limit(wire::kMostPmiName, length);
}

int PMI_Get_clique_size(int* size) {
  return with_pmi_job([&](PmiJob& job) { return copy_out(static_cast<int>(job.clique().size()), size); });
}

int PMI_Get_clique_ranks(int ranks[], int length) {
  return with_pmi_job([&](PmiJob& job) {
    if (ranks == nullptr) return PMI_ERR_INVALID_ARG;
    const std::vector<int> clique = job.clique();
    if (length < static_cast<int>(clique.size())) return PMI_ERR_INVALID_LENGTH;
    std::copy(clique.begin(), clique.end(), ranks);
    return PMI_SUCCESS;
  });
}

// ---- values with keys

int PMI_KVS_Get_my_name(char kvsname[], int length) {
  return tell_name(kvsname, length);
}

int PMI_KVS_Get_name_length_max(int* length) {
  return tell_limit(wire::kMostPmiName, length);
}

int PMI_KVS_Get_key_length_max(int* length) {
  return tell_limit(wire::kMostPmiKey, length);
}

int PMI_KVS_Get_value_length_max(int* length) {
  return tell_limit(wire::kMostPmiValue, length);
}

int PMI_KVS_Put(const char kvsname[], const char key[], const char value[]) {
  return with_space(kvsname, [&](PmiJob& job) { return job.put(key, value); });
}

int PMI_KVS_Commit(const char kvsname[]) {
  return with_space(kvsname, [](PmiJob&) { return PMI_SUCCESS; });
}

int PMI_KVS_Get(const char kvsname[], const char key[], char value[], int length) {
  return with_space(kvsname, [&](PmiJob& job) {
    std::string_view found;
    const int error = job.get(key, found);
    return error == PMI_SUCCESS ? copy_out(found, value, length) : error;
  });
}

// ---- what there is not

int PMI_KVS_Create(char*, int) {
  return PMI_FAIL;
}

int PMI_KVS_Destroy(const char*) {
  return PMI_FAIL;
}

int PMI_KVS_Iter_first(const char*, char*, int, char*, int) {
  return PMI_FAIL;
}

int PMI_KVS_Iter_next(const char*, char*, int, char*, int) {
  return PMI_FAIL;
}

int PMI_Publish_name(const char*, const char*) {
  return PMI_FAIL;
}

int PMI_Unpublish_name(const char*) {
  return PMI_FAIL;
}

int PMI_Lookup_name(const char*, char*) {
  return PMI_FAIL;
}

int PMI_Spawn_multiple(int, const char**, const char***, const int*, const int*, const PMI_keyval_t**, int,
                       const PMI_keyval_t*, int*) {
  return PMI_FAIL;
}

int PMI_Parse_option(int, char**, int*, PMI_keyval_t**, int*) {
  return PMI_FAIL;
}

int PMI_Args_to_keyval(int*, char*((*)[]), PMI_keyval_t**, int*) {
  return PMI_FAIL;
}

int PMI_Free_keyvals(PMI_keyval_t*, int) {
  return PMI_FAIL;
}

int PMI_Get_options(char*, int*) {
  return PMI_FAIL;
}
