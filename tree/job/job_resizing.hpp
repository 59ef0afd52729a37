// SPDX-License-Identifier: Apache-2.0
// The root's part in resizing a job: the program asks, the shell reads the list of hosts again, all processes
// are let go, and when it is known which of them stay (Resizing), hosts and processes get new numbers. From
// there on it is a start like the first: new processes register, and everybody gets a table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tree/job/resizing.hpp"
#include "tree/job/root_turn.hpp"

namespace charmtree::proto {

class JobResizing {
public:
  /// What everybody gets.
  struct Reshaping {
    std::vector<wire::Share> shares;
    wire::Reshape order;
    std::vector<Host> joined;
  };

  /// `hosts` are the job's. Both are changed: who joins, and how many processes there are.
  JobResizing(std::shared_ptr<wire::JobSpec> job, std::vector<Host>& hosts);

  void on(const wire::PesWanted& wanted);
  void on(const wire::Left& left);
  void on(const wire::Rejoined& back);
  void on(const HostsRead& event, Judge& judge, Instant now);
  /// Set: all processes are let go, and each is to come back or to leave.
  bool is_regrouping() const { return resizing_.has_value(); }
  std::optional<Reshaping> turn(RootTurn& turn);
  Instant next_deadline() const { return resizing_ ? resizing_->deadline() : kNever; }

private:
  void ask_for_hosts(RootTurn& turn);
  std::optional<Reshaping> reshape(RootTurn& turn);
  void forget_unused_hosts(std::size_t first, std::vector<wire::Share>& shares);

  std::shared_ptr<wire::JobSpec> job_;
  std::vector<Host>& hosts_;
  std::optional<std::uint32_t> wanted_pes_;  // the program has asked, and is to be served
  bool reading_hosts_ = false;
  bool regroup_due_ = false;
  std::optional<Resizing> resizing_;
};

}  // namespace charmtree::proto
