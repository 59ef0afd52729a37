// SPDX-License-Identifier: Apache-2.0
// The root's judgement: hears what comes up, says when the node table is complete and when a barrier opens,
// and which of all that ends the job. It acts on nothing itself. What is known of each subject is kept by a
// part that can be asked: hosts (LaunchState), registrations, barriers, where processes are and how they
// ended.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tree/job/barrier_counts.hpp"
#include "tree/job/decision.hpp"
#include "tree/job/exit_record.hpp"
#include "tree/job/going_on.hpp"
#include "tree/job/launch_state.hpp"
#include "tree/job/process_places.hpp"
#include "tree/job/registrations.hpp"
#include "tree/job/run_plan.hpp"
#include "tree/turn/events.hpp"
#include "tree/turn/job_status.hpp"
#include "tree/turn/losses.hpp"
#include "tree/turn/process_ends.hpp"

namespace charmtree::proto {

/// What another root has told everybody before it was lost.
struct InheritedState {
  std::uint32_t epoch = 0;
  wire::ProcessSet lost;
  std::array<std::uint32_t, 3> releases{};  // by BarrierKind
  bool has_table = false;
};

class Judge {
public:
  /// `hosts` is the job's list, in order; must outlive the judge.
  Judge(const wire::JobSpec& job, const std::vector<Host>& hosts, BadExit bad_exit = BadExit::waits);
  Judge(const Judge&) = delete;
  Judge& operator=(const Judge&) = delete;

  /// The launch begins. The `absent` hosts have failed already, in an earlier run of the program.
  void begin(Instant now, const std::set<std::uint32_t>& absent = {});
  /// Before that, if another root has launched the job, and all processes have been started.
  void take_over() { launch_.take_over(); }
  /// What everybody has been told by that one, once it is known: in that epoch, of whom, and how often
  /// barriers have opened. Whoever is in one is counted anew.
  void resume(const InheritedState& inherited);

  /// Facts from below, each once.
  void on(wire::Facts facts, Instant now);
  void on(const wire::AbortUp& abort);
  void on(const wire::LinkLost& lost);
  /// Launchers have been adopted; what they had counted of barriers may be lost.
  void repaired();
  /// The processes that have been lost and may be restarted, each once, in order.
  std::vector<wire::ProcessExit> take_crashes() { return std::exchange(crashes_, {}); }
  /// One of them cannot be restarted: that ends the job.
  void lost(const wire::ProcessExit& exit, const std::string& why);
  /// What has been lost since the last call, in a job that goes on without it.
  std::vector<Loss> take_losses();
  /// What survivors are to be told now; with it an epoch begins.
  std::optional<wire::Lost> tell_losses(Instant now);
  /// A new table has been made, and barriers are counted from the beginning.
  void begin_epoch(std::uint32_t epoch) { barriers_.begin_epoch(epoch); }
  /// One that has been moved there has registered before there is a table.
  void registered(wire::TupleBlock block, Instant now);
  /// Hosts and processes have been numbered anew, and have yet to answer and to register.
  void reshaped(Instant now);
  /// The job cannot be done as a whole.
  void refuse(const Error& error) { decision_.refuse(error); }
  /// While the user reads no output, processes may wait in their prints: nobody is late.
  void stalled(bool stalled, Instant now);
  /// Hosts are getting the job's files.
  void files_move(std::uint32_t percent, Instant now) { launch_.files_move(percent, now); }
  /// The hosts that have been given up now: none of them had answered at all.
  std::vector<wire::HostFailure> tick(Instant now);
  Instant next_deadline() const;

  /// Every host has answered or been given up, and it is time to number the processes of a job whose
  /// numbers depend on them, and to start those of one that waited for that.
  bool wants_numbers() const { return !launch_.has_numbers() && !verdict() && launch_.all_answered(); }
  /// The hosts have their processes, with which they have yet to answer. Returns why those that failed did.
  std::vector<std::string> numbered(Instant now);
  /// Every process has registered: the blocks, sorted, once.
  std::optional<std::vector<wire::TupleBlock>> take_blocks();
  /// True once per opening of that barrier.
  bool take_release(BarrierKind kind);
  /// Processes of a host that is lost can be started again on another one.
  bool can_move() const;

  /// `late` is left out of progress().
  JobStatus progress() const;
  JobStatus status() const;
  const LaunchState& launch() const { return launch_; }
  const BarrierCounts& barriers() const { return barriers_; }
  /// Processes are moved, and begun, elsewhere.
  ProcessPlaces& places() { return places_; }
  const ProcessPlaces& places() const { return places_; }
  ExitRecord& exits() { return exits_; }
  const ExitRecord& exits() const { return exits_; }
  /// It is made here, by what comes up; users and clocks make it there.
  Decision& decision() { return decision_; }
  const Decision& decision() const { return decision_; }
  const std::optional<Verdict>& verdict() const { return decision_.verdict(); }
  /// How all processes have ended; of those of whom nothing is known, what the verdict means for them.
  ProcessEnds ends() const;
  /// All that failed, in one line; empty if that is said elsewhere.
  std::string failures() const;

private:
  bool tells_losses() const;
  void decide(Verdict verdict);
  void judge_exit(const wire::ProcessExit& exit, Instant now);
  bool can_be_restarted(const wire::ProcessExit& exit) const;
  void judge_launch();
  void judge_end();
  std::uint32_t done() const;

  const wire::JobSpec& job_;
  const std::vector<Host>& hosts_;
  BadExit bad_exit_rule_;
  LaunchState launch_;
  Registrations registrations_;
  BarrierCounts barriers_;
  ProcessPlaces places_;
  ExitRecord exits_;
  std::uint32_t joined_ = 0;         // processes that speak MPI
  std::optional<GoingOn> going_on_;  // if the job does, or its tree is repaired
  std::vector<wire::ProcessExit> crashes_;
  Decision decision_;
};

}  // namespace charmtree::proto
