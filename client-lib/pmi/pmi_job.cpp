// SPDX-License-Identifier: Apache-2.0
#include "client-lib/pmi/pmi_job.hpp"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>

#include "client-lib/handle.hpp"
#include "tree/wire/pmi_standard.hpp"

namespace charmtree::client {

namespace {

int told(int error) {
  switch (error) {
    case CT_OK:
      return PMI_SUCCESS;
    case CT_EINVAL:
      return PMI_ERR_INVALID_ARG;
    case CT_ENOMEM:
      return PMI_ERR_NOMEM;
    case CT_ENOKEY:
      return PMI_ERR_INVALID_KEY;
    default:
      return PMI_FAIL;
  }
}

/// CHARMTREE_JOB has the host's number behind the job's name. A program that is started again as a whole has
/// another name each time, so that it finds nothing of the last one's.
std::string name_of_job() {
  const char* mark = ::secure_getenv("CHARMTREE_JOB");
  const char* restarts = ::secure_getenv("CHARMTREE_RESTARTS");
  const std::string_view job = mark == nullptr ? "" : mark;
  if (job.empty()) return "kvs_" + std::to_string(::getpid());
  const std::string name = "kvs_" + std::string{job.substr(0, job.rfind(':'))};
  return name.substr(0, wire::kMostPmiName / 2) + "_" +
         std::string{restarts == nullptr ? "0" : restarts}.substr(0, wire::kMostPmiName / 4);
}

/// With its final 0 it is within the limit that programs are told, as their own room for it.
bool fits(const char* text, std::size_t limit) {
  return ::strnlen(text, limit) < limit;
}

/// Where there is no job that could show it.
void say(const char* text) {
  if (text != nullptr && ::write(STDERR_FILENO, text, std::strlen(text)) < 0) return;  // and nobody to tell
}

int check_key(const char* key) {
  if (key == nullptr) return PMI_ERR_INVALID_ARG;
  if (*key == '\0') return PMI_ERR_INVALID_KEY;
  return fits(key, wire::kMostPmiKey) ? PMI_SUCCESS : PMI_ERR_INVALID_KEY_LENGTH;
}

}  // namespace

int PmiJob::join() {
  name_ = name_of_job();
  if (const int error = ct_init(&job_); error != CT_OK) return told(error);
  const int error = ct_register(job_, nullptr, 0);  // so that hosts are known when all have joined
  if (error != CT_OK) leave();
  return told(error);
}

int PmiJob::put(const char* key, const char* value) {
  if (const int error = check_key(key); error != PMI_SUCCESS) return error;
  if (value == nullptr) return PMI_ERR_INVALID_ARG;
  if (std::string_view{key}.starts_with(wire::kPmiReserved)) return PMI_ERR_INVALID_KEY;
  if (!fits(value, wire::kMostPmiValue)) return PMI_ERR_INVALID_VAL_LENGTH;
  const int error = ct_put(job_, key, value, std::strlen(value));
  if (error != CT_OK) return error == CT_EINVAL ? PMI_FAIL : told(error);  // no room before the next fence
  put_.insert_or_assign(key, value);
  return PMI_SUCCESS;
}

int PmiJob::fence() {
  const int error = ct_fence(job_);
  if (error == CT_OK) put_.clear();
  return told(error);
}

int PmiJob::get(const char* key, std::string_view& value) {
  if (const int error = check_key(key); error != PMI_SUCCESS) return error;
  if (key == wire::kPmiMapping) return mapping(value);
  if (const auto own = put_.find(std::string_view{key}); own != put_.end()) {
    value = own->second;
    return PMI_SUCCESS;
  }
  const void* found = nullptr;
  std::size_t size = 0;
  const int error = ct_get(job_, key, &found, &size);
  if (error == CT_OK) value = {static_cast<const char*>(found), size};
  return told(error);
}

int PmiJob::put_attribute(const char* name, const char* value) {
  if (const int error = check_key(name); error != PMI_SUCCESS) return error;
  if (value == nullptr) return PMI_ERR_INVALID_ARG;
  if (!fits(value, wire::kMostPmiValue)) return PMI_ERR_INVALID_VAL_LENGTH;
  return told(guarded(job_, [&](Job&) { return job_->attributes.put(name, value); }));
}

int PmiJob::get_attribute(const char* name, bool waits, std::string& value) {
  if (const int error = check_key(name); error != PMI_SUCCESS) return error;
  return told(guarded(job_, [&](Job&) { return job_->attributes.get(name, waits, value); }));
}

int PmiJob::ring(std::string_view value, std::string& left, std::string& right) {
  const int request = ct_ring_start(job_, value.data(), value.size());
  if (request < 0) return told(request);
  int error = ct_wait(job_, request);
  const auto read = [&](int neighbour, std::string& to) {
    const void* found = nullptr;
    std::size_t size = 0;
    if (error == CT_OK) error = ct_gathered(job_, request, neighbour % this->size(), &found, &size);
    if (error == CT_OK) to.assign(static_cast<const char*>(found), size);
  };
  read(rank() + size() - 1, left);
  read(rank() + 1, right);
  ct_release(job_, request);
  return told(error);
}

// ---- who is on which host

/// They follow each other: where processes are moved to other hosts there are no fences, and so no PMI.
std::vector<int> PmiJob::clique() const {
  std::vector<int> ranks(static_cast<std::size_t>(ct_local_size(job_)));
  std::iota(ranks.begin(), ranks.end(), rank() - ct_local_rank(job_));
  return ranks;
}

/// One that is too long for a value is not told, as it is not over the wire.
int PmiJob::mapping(std::string_view& text) {
  if (mapping_.empty()) {
    std::vector<wire::Share> shares;
    ct_peer peer;
    for (int rank = 0; rank < size(); ++rank) {
      if (const int error = ct_lookup(job_, rank, &peer); error != CT_OK) return told(error);
      const auto host = static_cast<std::uint32_t>(peer.host);
      if (shares.empty() || shares.back().host != host)
        shares.push_back({host, static_cast<std::uint32_t>(rank), 0});
      ++shares.back().processes;
    }
    mapping_ = wire::process_mapping(shares);
  }
  text = mapping_;
  return fits(mapping_.c_str(), wire::kMostPmiValue) ? PMI_SUCCESS : PMI_ERR_INVALID_KEY;
}

// ---- the end

int PmiJob::leave() {
  const int error = ct_finalize(job_, 0);
  if (error != CT_ETIMEDOUT && error != CT_EORDER) job_ = nullptr;
  return told(error);
}

void PmiJob::abort(int code, const char* text) noexcept {
  constexpr int kStatusBits = 0xff;
  const int status = (code & kStatusBits) == 0 ? 1 : code & kStatusBits;
  if (job_ != nullptr)
    ct_abort(job_, status, text);
  else
    say(text);
  ::_exit(status);
}

void PmiJob::die(const char* text) noexcept {
  if (job_ != nullptr && text != nullptr)
    ct_print(job_, CT_STDERR, std::string{text, ::strnlen(text, CT_MAX_PRINT)}.c_str());
  else
    say(text);
  ::_exit(1);
}

PmiJob& pmi_job() {
  static PmiJob& job = *std::make_unique<PmiJob>().release();
  return job;
}

int join_pmi_job() noexcept {
  try {
    PmiJob& job = pmi_job();
    return job.is_joined() ? PMI_SUCCESS : job.join();
  } catch (...) {
    return PMI_ERR_NOMEM;
  }
}

int copy_out(std::string_view text, char* to, int room) {
  if (to == nullptr) return PMI_ERR_INVALID_ARG;
  if (room < 0 || text.size() >= static_cast<std::size_t>(room)) return PMI_ERR_INVALID_LENGTH;
  to[text.copy(to, text.size())] = '\0';
  return PMI_SUCCESS;
}

int copy_out(int number, int* to) {
  if (to == nullptr) return PMI_ERR_INVALID_ARG;
  *to = number;
  return PMI_SUCCESS;
}

}  // namespace charmtree::client
