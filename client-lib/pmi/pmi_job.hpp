// SPDX-License-Identifier: Apache-2.0
// What both versions of PMI are made of: the job that this process has joined by charmtree.h, what it has put
// that no fence has brought yet, and who is on which host. What is not PMI is not here: values, fences and
// waiting are the client library's. Functions return PMI_SUCCESS or an error of pmi.h; both versions number
// them alike.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "client-lib/charmtree.h"
#include "client-lib/pmi/pmi.h"

namespace charmtree::client {

class PmiJob {
public:
  /// The process joins once.
  int join();
  bool is_joined() const { return job_ != nullptr; }

  // Of what follows, precondition: is_joined().
  int rank() const { return ct_rank(job_); }
  int size() const { return ct_size(job_); }
  /// No other job of its hosts has it.
  const std::string& name() const { return name_; }

  int put(const char* key, const char* value);
  int fence();
  /// Also what was put before a fence, by this process. Valid until put or fence is called.
  int get(const char* key, std::string_view& value);
  /// For the processes of this host, at once. `waits`: until one has put it.
  int put_attribute(const char* name, const char* value);
  int get_attribute(const char* name, bool waits, std::string& value);
  /// What the neighbours give, in the ring of all processes, which all call it.
  int ring(std::string_view value, std::string& left, std::string& right);
  /// The processes of this host, in their order.
  std::vector<int> clique() const;

  /// Waits for all.
  int leave();

  // Also of a process that has not joined, or has left.
  /// Ends the job.
  [[noreturn]] void abort(int code, const char* text) noexcept;
  /// Ends this process, which has failed.
  [[noreturn]] void die(const char* text) noexcept;

private:
  int mapping(std::string_view& text);

  ct_job* job_ = nullptr;
  std::string name_, mapping_;
  std::map<std::string, std::string, std::less<>> put_;  // since the last fence
};

/// The one of this process: PMI has no handles. It is there as long as the process, whose last words may come
/// while its other objects go.
PmiJob& pmi_job();

/// The first time it joins.
int join_pmi_job() noexcept;

/// Calls `call(PmiJob&)`, and lets no exception out.
template <class Call>
int with_pmi_job(Call call) noexcept {
  try {
    PmiJob& job = pmi_job();
    return job.is_joined() ? call(job) : PMI_ERR_INIT;
  } catch (...) {
    return PMI_ERR_NOMEM;
  }
}

/// With a final 0. PMI_ERR_INVALID_LENGTH: there is no room for it.
int copy_out(std::string_view text, char* to, int room);
int copy_out(int number, int* to);

}  // namespace charmtree::client
