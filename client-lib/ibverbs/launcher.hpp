// SPDX-License-Identifier: Apache-2.0
// What is said to the launcher, and through it to the other processes. It waits as long as it takes, whatever
// the time-out of the job, unless a function says otherwise: what has begun cannot be taken back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "client-lib/charmtree_verbs.h"
#include "client-lib/ibverbs/failure.hpp"

namespace charmtree::ibverbs {

class Launcher {
public:
  /// They must outlive the object; what is said is counted in `costs`.
  Launcher(ct_job* job, ct_verbs_costs& costs)
      : job_(job), costs_(costs), rank_(ct_rank(job)), size_(ct_size(job)) {}

  ct_job* job() const { return job_; }
  int rank() const { return rank_; }
  int size() const { return size_; }
  std::uint32_t others() const { return static_cast<std::uint32_t>(size_ - 1); }
  /// Of the place-th other process.
  std::uint32_t rank_at(std::uint32_t place) const {
    return place < static_cast<std::uint32_t>(rank_) ? place : place + 1;
  }

  /// What this host consists of; empty: it cannot be known.
  std::string_view topology();

  /// A request of an allgather with these; none: with all.
  int start(const std::vector<int>& ranks, std::string_view value);
  int wait(int request);
  /// Nothing: it has given none.
  std::string_view gathered(int request, int rank);
  /// What all tell all.
  Outcome gather(const std::string& own, std::vector<std::string>& all);

  Outcome offer(const std::string& key, const std::string& value);
  int ask(std::uint32_t rank, const std::string& key, std::string_view& value);

  /// A request of that, or CT_EORDER: too much is under way.
  int start_ask(std::uint32_t rank, const std::string& key);
  Outcome answer(std::uint32_t rank, const std::string& key, const std::string& value);
  Outcome listen(const std::string& prefix, ct_ask_function function, void* argument);

private:
  Outcome gather_piece(std::string_view piece, std::vector<std::string>& all, bool& is_more);

  ct_job* job_;
  ct_verbs_costs& costs_;
  int rank_, size_;
};

}  // namespace charmtree::ibverbs
