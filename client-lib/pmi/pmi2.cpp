// SPDX-License-Identifier: Apache-2.0
// The functions of pmi2.h.
#include "client-lib/pmi/pmi2.h"

#include <algorithm>
#include <cstring>

#include "client-lib/pmi/pmi_job.hpp"
#include "tree/wire/pmi_standard.hpp"

using charmtree::client::copy_out;
using charmtree::client::PmiJob;
using charmtree::client::with_pmi_job;
namespace wire = charmtree::wire;

static_assert(PMI2_MAX_KEYLEN == wire::kMostPmiKey);
static_assert(PMI2_MAX_VALLEN == wire::kMostPmiValue && PMI2_MAX_ATTRVALUE == wire::kMostPmiValue);
static_assert(PMI2_SUCCESS == PMI_SUCCESS && PMI2_FAIL == PMI_FAIL && PMI2_ERR_INIT == PMI_ERR_INIT &&
              PMI2_ERR_NOMEM == PMI_ERR_NOMEM && PMI2_ERR_INVALID_ARG == PMI_ERR_INVALID_ARG &&
              PMI2_ERR_INVALID_KEY == PMI_ERR_INVALID_KEY &&
              PMI2_ERR_INVALID_KEY_LENGTH == PMI_ERR_INVALID_KEY_LENGTH &&
              PMI2_ERR_INVALID_VAL_LENGTH == PMI_ERR_INVALID_VAL_LENGTH &&
              PMI2_ERR_INVALID_LENGTH == PMI_ERR_INVALID_LENGTH);

namespace {

/// Of an attribute that is an array.
int tell_array(const std::vector<int>& numbers, int* array, int room, int* size) {
  if (array == nullptr || size == nullptr) return PMI2_ERR_INVALID_ARG;
  if (room < static_cast<int>(numbers.size())) return PMI2_ERR_INVALID_LENGTH;
  std::copy(numbers.begin(), numbers.end(), array);
  return copy_out(static_cast<int>(numbers.size()), size);
}

}  // namespace

int PMI2_Init(int* spawned, int* size, int* rank, int* appnum) {
  if (spawned == nullptr || size == nullptr || rank == nullptr || appnum == nullptr)
    return PMI2_ERR_INVALID_ARG;
  if (const int error = charmtree::client::join_pmi_job(); error != PMI2_SUCCESS) return error;
  return with_pmi_job([&](PmiJob& job) {
    *spawned = 0;
    *size = job.size();
    *rank = job.rank();
    *appnum = 0;
    return PMI2_SUCCESS;
  });
}

int PMI2_Initialized(void) {
  return with_pmi_job([](PmiJob&) { return PMI2_SUCCESS; }) == PMI2_SUCCESS ? 1 : 0;
}

int PMI2_Finalize(void) {
  return with_pmi_job([](PmiJob& job) { return job.leave(); });
}

int PMI2_Abort(int flag, const char msg[]) {
  PmiJob& job = charmtree::client::pmi_job();
  if (flag == 0) job.die(msg);
  job.abort(1, msg);
}

int PMI2_Job_GetId(char jobid[], int jobid_size) {
  return with_pmi_job([&](PmiJob& job) { return copy_out(job.name(), jobid, jobid_size); });
}

int PMI2_Job_GetRank(int* rank) {
  return with_pmi_job([&](PmiJob& job) { return copy_out(job.rank(), rank); });
}

int PMI2_Info_GetSize(int* size) {
  return with_pmi_job([&](PmiJob& job) { return copy_out(static_cast<int>(job.clique().size()), size); });
}

// ---- values with keys

int PMI2_KVS_Put(const char key[], const char value[]) {
  return with_pmi_job([&](PmiJob& job) { return job.put(key, value); });
}

int PMI2_KVS_Fence(void) {
  return with_pmi_job([](PmiJob& job) { return job.fence(); });
}

int PMI2_KVS_Get(const char* jobid, int, const char key[], char value[], int maxvalue, int* vallen) {
  return with_pmi_job([&](PmiJob& job) {
    if (value == nullptr || vallen == nullptr || maxvalue < 1) return PMI2_ERR_INVALID_ARG;
    if (jobid != nullptr && job.name() != jobid) return PMI2_ERR_INVALID_ARG;
    std::string_view found;
    if (const int error = job.get(key, found); error != PMI2_SUCCESS) return error;
    const std::string_view shown = found.substr(0, static_cast<std::size_t>(maxvalue) - 1);
    const int length = static_cast<int>(found.size());
    *vallen = shown.size() == found.size() ? length : -length;
    return copy_out(shown, value, maxvalue);
  });
}

int PMIX_Ring(const char value[], int* rank, int* ranks, char left[], char right[], int maxvalue) {
  return with_pmi_job([&](PmiJob& job) {
    if (value == nullptr || rank == nullptr || ranks == nullptr) return PMI2_ERR_INVALID_ARG;
    const std::size_t size = ::strnlen(value, wire::kMostPmiValue);
    if (size == wire::kMostPmiValue) return PMI2_ERR_INVALID_VAL_LENGTH;
    std::string of_left, of_right;
    if (const int error = job.ring({value, size}, of_left, of_right); error != PMI2_SUCCESS) return error;
    *rank = job.rank();
    *ranks = job.size();
    const int error = copy_out(of_left, left, maxvalue);
    return error == PMI2_SUCCESS ? copy_out(of_right, right, maxvalue) : error;
  });
}

// ---- attributes

int PMI2_Info_PutNodeAttr(const char name[], const char value[]) {
  return with_pmi_job([&](PmiJob& job) { return job.put_attribute(name, value); });
}

int PMI2_Info_GetNodeAttr(const char name[], char value[], int valuelen, int* found, int waitfor) {
  return with_pmi_job([&](PmiJob& job) {
    if (found == nullptr) return PMI2_ERR_INVALID_ARG;
    std::string text;
    const int error = job.get_attribute(name, waitfor != 0, text);
    *found = error == PMI2_SUCCESS;
    if (error == PMI2_SUCCESS) return copy_out(text, value, valuelen);
    return error == PMI2_ERR_INVALID_KEY && waitfor == 0 ? PMI2_SUCCESS : error;
  });
}

int PMI2_Info_GetNodeAttrIntArray(const char name[], int array[], int arraylen, int* outlen, int* found) {
  return with_pmi_job([&](PmiJob& job) {
    if (name == nullptr || found == nullptr) return PMI2_ERR_INVALID_ARG;
    const std::string_view what = name;
    *found = what == "localRanks" || what == "localRanksCount";
    if (*found == 0) return PMI2_SUCCESS;
    std::vector<int> clique = job.clique();
    if (what == "localRanksCount") clique = {static_cast<int>(clique.size())};
    return tell_array(clique, array, arraylen, outlen);
  });
}

int PMI2_Info_GetJobAttr(const char name[], char value[], int valuelen, int* found) {
  return with_pmi_job([&](PmiJob& job) {
    if (name == nullptr || found == nullptr) return PMI2_ERR_INVALID_ARG;
    *found = 1;
    if (name == std::string_view{"universeSize"})
      return copy_out(std::to_string(job.size()), value, valuelen);
    if (name == std::string_view{"hasNameServ"}) return copy_out("FALSE", value, valuelen);
    std::string_view mapping;
    const int error = name == wire::kPmiMapping ? job.get(name, mapping) : PMI2_ERR_INVALID_KEY;
    *found = error == PMI2_SUCCESS;
    if (error == PMI2_SUCCESS) return copy_out(mapping, value, valuelen);
    return error == PMI2_ERR_INVALID_KEY ? PMI2_SUCCESS : error;
  });
}

int PMI2_Info_GetJobAttrIntArray(const char name[], int array[], int arraylen, int* outlen, int* found) {
  return with_pmi_job([&](PmiJob& job) {
    if (name == nullptr || found == nullptr) return PMI2_ERR_INVALID_ARG;
    *found = name == std::string_view{"universeSize"};
    return *found == 0 ? PMI2_SUCCESS : tell_array({job.size()}, array, arraylen, outlen);
  });
}

// ---- what there is not

int PMI2_Job_Spawn(int, const char**, int*, const char***, const int*, const int*, const MPID_Info**, int,
                   const MPID_Info**, char*, int, int*) {
  return PMI2_FAIL;
}

int PMI2_Job_Connect(const char*, PMI2_Connect_comm_t*) {
  return PMI2_FAIL;
}

int PMI2_Job_Disconnect(const char*) {
  return PMI2_FAIL;
}

int PMI2_Nameserv_publish(const char*, const MPID_Info*, const char*) {
  return PMI2_FAIL;
}

int PMI2_Nameserv_lookup(const char*, const MPID_Info*, char*, int) {
  return PMI2_FAIL;
}

int PMI2_Nameserv_unpublish(const char*, const MPID_Info*) {
  return PMI2_FAIL;
}
