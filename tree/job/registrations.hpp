// SPDX-License-Identifier: Apache-2.0
// The processes that have registered, until all have: then their tuples make the node table. How long the
// others may take, once one has registered; programs that never do have no limit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tree/base/time.hpp"
#include "tree/wire/host.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree::proto {

class Registrations {
public:
  /// `hosts` is the job's list, in order; both must outlive this object.
  Registrations(const wire::JobSpec& job, const std::vector<Host>& hosts) : job_(job), hosts_(hosts) {}

  /// So many more, on these hosts.
  void add(std::vector<wire::TupleBlock> blocks, std::uint32_t registered);
  /// One that was started again before there is a table: in the place of the first if that had registered.
  /// False: it had.
  bool add_again(wire::TupleBlock block);
  /// From now on the others have ++timeout; they have no limit while their time does not run.
  void await(bool time_runs, Instant now);
  /// The same, unless their time runs already.
  void await_first(bool time_runs, Instant now) {
    if (register_by_ == kNever) await(time_runs, now);
  }
  /// Their time is over, once. Whether somebody is missing.
  bool is_over(Instant now);
  Instant next_deadline() const { return register_by_; }
  /// All processes register anew.
  void clear();
  /// Another root has told everybody a table.
  void resume_with_table();

  std::uint32_t count() const { return registered_; }
  /// Some wait for the others.
  bool is_pending() const { return registered_ > 0 && !table_taken_; }
  bool has_table() const { return table_taken_; }
  /// Every process has registered: the blocks, sorted, once.
  std::optional<std::vector<wire::TupleBlock>> take_blocks();
  /// Names of hosts.
  std::vector<std::string> unregistered_hosts() const;
  /// "n3: start: 2 of 8 processes have not registered within 60 s; ..."
  std::string late_line() const;

private:
  const wire::JobSpec& job_;
  const std::vector<Host>& hosts_;
  std::vector<wire::TupleBlock> blocks_;
  std::uint32_t registered_ = 0;
  bool table_taken_ = false;
  Instant register_by_ = kNever;
};

}  // namespace charmtree::proto
