// SPDX-License-Identifier: Apache-2.0
// At the root: which hosts run something, how many processes each, and which numbers these have, of a job
// where that waits for the hosts: for which of them live, or for what processors they have.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tree/job/root_turn.hpp"

namespace charmtree::proto {

class Numbering {
public:
  /// Whether the job may be made smaller than it was to be, if too few hosts are left.
  enum class Narrow : std::uint8_t {
    no,
    if_asked,  // the user could have allowed that, and has not
    yes,
  };
  /// `hosts` are the job's, and get their processes from here.
  Numbering(std::shared_ptr<wire::JobSpec> job, std::vector<Host>& hosts, Narrow narrow);
  /// Hosts have no processes before they get them here.
  void put_off();
  /// There is something to run.
  bool any_wanted() const { return !wanted_.empty(); }

  /// Precondition: the job is provisioned by topology.
  void on(const wire::HostTopology& told);
  /// All hosts have answered or been given up. The processes of those that run something; nobody: the judge
  /// has decided.
  std::vector<wire::Share> number(RootTurn& turn);
  /// There is no such process as is to have the input: that ends the job.
  void check_input(Judge& judge) const;

private:
  std::vector<Host*> take_places(Judge& judge);
  void take_stock(RootTurn& turn);
  void say_numbers(RootTurn& turn, std::size_t hosts, std::uint32_t before) const;

  std::shared_ptr<wire::JobSpec> job_;
  std::vector<Host>& hosts_;
  Narrow narrow_;
  std::vector<std::uint32_t> wanted_;  // processes of the hosts, in order
  std::vector<Topology> topologies_;   // of the hosts, if these count
};

}  // namespace charmtree::proto
