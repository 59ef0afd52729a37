// SPDX-License-Identifier: Apache-2.0
// What the user reads of the start of a program, and what is recorded of it: hosts that are late, those that
// fail, and that all processes run. What fails after that is no part of the start.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "tree/job/init_report.hpp"
#include "tree/job/judge.hpp"
#include "tree/turn/events.hpp"

namespace charmtree::proto {

class StartReport {
public:
  /// Hosts that have not answered by then are named, so many at most.
  static constexpr Duration kLateAfter = 10s;
  static constexpr std::size_t kMostLate = 32;

  /// `hosts` are the job's. `could_drop`: the user can be told of ++on-host-failure drop.
  StartReport(std::shared_ptr<const wire::JobSpec> job, const std::vector<Host>& hosts, bool could_drop)
      : job_(std::move(job)), hosts_(hosts), could_drop_(could_drop), init_(job_) {}
  /// Of the next run of the program, over the same tree.
  void take_over(StartReport& before);

  void begin(Instant now);
  Instant begun_at() const { return begun_at_; }
  /// Another root has started the program. `has_table`: its processes have registered.
  void resume(bool has_table) { registering_ = has_table; }
  /// Nothing is said of it.
  void announce_nothing() {
    announced_ = knows_all_ = true;
    init_.tell_nothing();
  }

  void on(const wire::Facts& facts);
  void on(const wire::LinkLost& lost, const Judge& judge);
  /// These have been given up.
  void failed(std::vector<wire::HostFailure> hosts);
  /// Once: whoever waits behind a pipe or a log sees nothing else of it until all are there or given up.
  void tell_late(const Judge& judge, Instant now, Actions& out);
  /// The same of processes that do not come to MPI_Init.
  void tell_init(const Judge& judge, Instant now, Actions& out) { init_.turn(judge, now, out); }
  /// Those that have failed since the last time.
  void record(Instant now, Actions& out);
  /// What hosts call their processes, if they have told. True: now they have told of all, for the first time.
  bool tell_processes(const LaunchState& launch, Actions& out);
  enum class Protocol : std::uint8_t { charm, native };
  /// All processes have registered. Once.
  void announce(Protocol protocol, Instant now, Actions& out);
  Instant next_deadline() const { return earlier(late_at_, init_.next_deadline()); }

  /// Hosts that cannot be started.
  const std::set<std::uint32_t>& absent() const { return absent_; }

private:
  std::shared_ptr<const wire::JobSpec> job_;
  const std::vector<Host>& hosts_;
  bool could_drop_;
  InitReport init_;
  Instant begun_at_ = kNever;
  Instant late_at_ = kNever;
  bool registering_ = false;  // some process has registered: there will be a table
  bool announced_ = false;
  std::vector<wire::ProcessIds> process_ids_;  // not yet told
  bool knows_all_ = false;                     // they have been told
  std::vector<wire::HostFailure> failures_;    // not yet recorded
  std::set<std::uint32_t> lost_at_start_;      // hosts, of which that is recorded
  std::set<std::uint32_t> absent_;
  std::set<std::uint32_t> random_layout_;  // hosts of Facts::random_layout
};

}  // namespace charmtree::proto
