// SPDX-License-Identifier: Apache-2.0
// What a program asks of its job's fences: which may be entered, and when one is waited for. Functions return
// CT_OK (or the number asked for) or a negative CT_E... value; charmtree.h documents them for users.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "client-lib/channel.hpp"
#include "client-lib/exchange.hpp"
#include "tree/wire/process_set.hpp"

namespace charmtree::client {

class Job;

class Fences {
public:
  /// `job` must outlive the object.
  explicit Fences(Job& job) : job_(job) {}

  int put(std::string_view key, std::string_view value);
  int get(std::string_view key, std::string_view& value);
  using Gives = Exchange::Gives;
  /// `ranks`: of a group; empty: of the job. A value is for those that take part, or for the neighbours.
  int begin(const std::vector<int>& ranks, Gives gives, std::string_view value = {});
  /// A fence of the job, to its end; a second call after a time-out goes on waiting for the first.
  int fence();
  /// `progress`: goes on with what is settled here, and not by the launcher; CT_OK, or an error.
  using Progress = std::function<int()>;
  int test(int request, const Progress& progress);
  int wait(int request, const Progress& progress);
  int gathered(int request, std::uint32_t rank, std::string_view& value);
  int release(int request);

private:
  std::optional<std::vector<wire::ProcessSet::Range>> group_of(const std::vector<int>& ranks) const;
  int begin(std::vector<wire::ProcessSet::Range> processes, Gives gives, std::string_view value,
            const Deadline& deadline);
  bool is_known(int request) const;
  int wait_for(int request, const Progress& progress);

  Job& job_;
  int fence_ = -1;  // that fence() waits for
};

}  // namespace charmtree::client
