// SPDX-License-Identifier: Apache-2.0
// The root's judgement: counts what comes up, says when the node table is complete and when a barrier opens,
// and decides once, by the first cause, how the job ends (docs/manual/exit-status.md). It acts on nothing
// itself.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tree/proto/events.hpp"
#include "tree/proto/job_status.hpp"
#include "tree/proto/losses.hpp"
#include "tree/proto/process_end.hpp"
#include "tree/proto/process_ends.hpp"
#include "tree/wire/moved_processes.hpp"

namespace charmtree::proto {

/// What another root has told everybody before it was lost.
struct Heritage {
  std::uint32_t epoch = 0;
  wire::ProcessSet lost;
  std::array<std::uint32_t, 3> releases{};  // by BarrierKind
  bool has_table = false;
};

/// How the job ends. `lines` is what the user should read, first cause first; empty for a normal end.
struct Verdict {
  int status = 0;
  int signal = 0;  // the launcher itself dies of it
  wire::End end;
  std::vector<std::string> lines;
  Ending why = {};
};

/// What a plain process does to the job by exiting with another status than 0.
enum class BadExit : std::uint8_t {
  waits,  // the others go on, and the first such status is the job's in the end
  ends,   // ++kill-on-exit: the job is over at once
};

class Judge {
public:
  /// `hosts` is the job's list, in order; must outlive the judge.
  Judge(const wire::JobSpec& job, const std::vector<Host>& hosts, BadExit bad_exit = BadExit::waits)
      : job_(job), hosts_(hosts), bad_exit_rule_(bad_exit), numbered_(!job.waits_for_all()) {
    const bool goes_on = job.on_failure == wire::OnFailure::go_on && !job.restarts_processes;
    if (goes_on || job.repairs()) losses_.emplace(job);
  }

  /// Facts from below, each once.
  void on(wire::Facts facts, Instant now);
  void on(const wire::AbortUp& abort);
  void on(const wire::LinkLost& lost);
  /// Launchers have been adopted; what they had counted of barriers may be lost.
  void repaired() {
    if (losses_) losses_->count_anew();
  }
  /// The processes that have been lost and may be restarted, each once, in order.
  std::vector<wire::ProcessExit> take_crashes() { return std::exchange(crashes_, {}); }
  /// One of them cannot be restarted: that ends the job.
  void lost(const wire::ProcessExit& exit, const std::string& why);
  /// What has been lost since the last call, in a job that goes on without it.
  std::vector<Loss> take_losses() { return losses_ ? losses_->take_news() : std::vector<Loss>{}; }
  /// What survivors are to be told now; with it an epoch begins.
  std::optional<wire::Lost> tell_losses(Instant now);
  /// So often has it been started again by now.
  void restarted(std::uint32_t process, std::uint32_t times) { restarted_[process] = times; }
  /// A new table has been made, and barriers are counted from the beginning.
  void begin_epoch(std::uint32_t epoch);
  /// Some process has sent its `ending`.
  bool any_ended() const { return ended_ > 0; }
  /// "host: run: process 3: killed by signal 9 (Killed)", and more behind it.
  std::string about(const wire::ProcessExit& exit, const std::string& more = {}) const;
  /// Processes of a host that is lost can be started again on another one.
  bool can_move() const {
    return job_.restarts_in_place && all_up() && !verdict_ && !table_pending() && !leaving();
  }
  /// All were told that they may go.
  bool leaving() const { return opened_[static_cast<std::size_t>(BarrierKind::leave)] > 0; }
  const wire::MovedProcesses& moved() const { return moved_; }
  /// They are on other hosts from now on.
  void moved(const wire::Share& share);
  /// Those that are on this host and have not ended as they should.
  std::vector<std::uint32_t> unfinished_on(std::uint32_t host) const;
  bool any_finished_on(std::uint32_t host) const;
  /// One that has been moved there has registered before there is a table.
  void registered(wire::TupleBlock block, Instant now);
  /// Hosts and processes have been numbered anew, and have yet to answer and to register.
  void reshaped(Instant now);
  /// The job cannot be done as a whole.
  void refuse(const Error& error);
  /// A signal of the user's: the first ends the job with a grace, the second at once, unless it is TERM or
  /// HUP: these often come twice, as from `timeout`, or from a shell and its terminal. A job that is ending
  /// anyway ends at once; by TERM and HUP, it dies of them.
  void interrupted(int signal);
  void time_limit_reached();
  /// While the user reads no output, processes may wait in their prints: nobody is late.
  void stalled(bool stalled, Instant now);
  /// The launch begins.
  void begin(Instant now);
  /// Instead: another root has launched the job, and all processes have been started.
  void take_over();
  /// What everybody has been told by that one, once it is known: in that epoch, of whom, and how often
  /// barriers have opened. Whoever is in one is counted anew.
  void resume(const Heritage& heritage);
  /// Before that: these hosts have failed already, in an earlier run of the program.
  void leave_out(const std::set<std::uint32_t>& hosts);
  /// The verdict was one on a run, and is to be followed by one on the job.
  void reopen() { verdict_.reset(); }
  /// The hosts that have been given up now: none of them had answered at all.
  std::vector<wire::HostFailure> tick(Instant now);
  Instant next_deadline() const;

  /// Every host has answered or been given up, and it is time to number the processes of a job whose
  /// numbers depend on them, and to start those of one that waited for that.
  bool wants_numbers() const { return !numbered_ && !verdict_ && answered_.size() == hosts_.size(); }
  bool has_numbers() const { return numbered_; }
  /// The hosts that have failed.
  std::set<std::uint32_t> failed_hosts() const;
  /// The hosts have their processes, with which they have yet to answer. Returns why those that failed did.
  std::vector<std::string> numbered(Instant now);
  /// Too few hosts are left.
  void too_few(const std::string& line);
  /// There is nothing to run: all is well.
  void nothing_to_run() { decide({}); }

  /// `late` is left out of progress().
  JobStatus progress() const;
  JobStatus status() const;
  /// Every host has started its processes.
  bool all_up() const { return numbered_ && up_ == hosts_.size(); }
  /// Every process has registered: the blocks, sorted, once.
  std::optional<std::vector<wire::TupleBlock>> take_blocks();
  /// True once per opening of that barrier.
  bool take_release(BarrierKind kind);
  /// So often has it opened.
  std::uint32_t opened(BarrierKind kind) const { return opened_[static_cast<std::size_t>(kind)]; }
  /// All processes have ended, and what they have printed is waited for.
  bool awaits_output() const {
    return verdict_ && verdict_->end.mode == wire::EndMode::finish && !job_.checkup;
  }
  /// Of this host, and maybe of others, not all of that has come: a job that has ended well has not.
  void lose_output(std::uint32_t host, const std::string& how);
  /// The decision, once made; it does not change, except that a second interrupt turns its end into a kill,
  /// and for output that is lost.
  const std::optional<Verdict>& verdict() const { return verdict_; }
  /// How all processes have ended; of those of whom nothing is known, what the verdict means for them.
  ProcessEnds ends() const;
  /// The processes that have failed since the last call.
  std::vector<Progress::Failure> take_failures() { return std::exchange(failed_, {}); }
  /// All that failed, in one line; empty if that is said elsewhere.
  std::string failures() const;
  /// What became of the processes that the verdict ended; empty if it ended none for another one's sake.
  std::string aftermath() const { return aftermath_.line(); }
  const Host& host_of(std::uint32_t process) const;

private:
  void interrupted_again(int signal, bool twice);
  /// A launch without any news for so many times ++timeout is over; a checkup has less to wait for.
  static constexpr int kSilence = 3;
  Duration patience() const {
    return job_.checkup ? job_.timeout * 3 / 2 : kSilence * job_.timeout + job_.launch.wait;
  }

  void decide(Verdict verdict);
  void fail(int status, std::string line, Ending why = {Cause::launcher});
  void fail(const wire::ProcessExit& exit, std::string_view more, std::string_view hint);
  Ending ending_of(const wire::ProcessExit& exit) const;
  std::string first_bad_exit() const;
  void judge_exit(const wire::ProcessExit& exit);
  void note_end(std::uint32_t process, const WayToEnd& way, const std::string& how);
  void note_end(const wire::ProcessExit& exit) { note_end(exit.process, way_of(exit), describe(exit)); }
  std::vector<std::uint32_t> processes_on(std::uint32_t host) const;
  bool can_be_restarted(const wire::ProcessExit& exit) const;
  void lose(const wire::ProcessExit& exit);
  void lose(const wire::LinkLost& lost);
  bool goes_on() const { return losses_ && job_.on_failure == wire::OnFailure::go_on; }
  bool goes_on_without(const wire::ProcessExit& exit) const {
    return goes_on() && (exit.registered || !table_pending());
  }
  bool goes_on_without(const wire::LinkLost& lost) const {
    return goes_on() && !lost.lives && all_up() && !table_pending();
  }
  std::uint32_t done() const { return losses_ ? losses_->done() : ended_ + exited_; }
  Verdict verdict_of(const wire::ProcessExit& exit, std::string_view more, std::string_view hint) const;
  Verdict verdict_at_end() const;
  void judge_launch();
  std::vector<std::string> failure_lines();
  void await_answers(Instant now);
  void await_registrations(Instant now);
  std::vector<wire::HostFailure> give_up_silent_hosts();
  std::vector<std::string> unregistered_hosts() const;
  std::vector<std::string> unanswered_hosts() const;
  void judge_end();
  std::string about(std::uint32_t process, Phase phase, const std::string& what) const;
  Phase phase_of(const wire::ProcessExit& exit) const;
  bool table_pending() const { return registered_ > 0 && !table_taken_; }

  const wire::JobSpec& job_;
  const std::vector<Host>& hosts_;
  BadExit bad_exit_rule_;
  std::set<std::uint32_t> left_out_;
  std::set<std::uint32_t> answered_;
  std::size_t up_ = 0;
  std::uint32_t idle_ = 0;  // hosts that have been numbered and got no processes; they count as up
  std::vector<wire::HostFailure> failures_;
  std::vector<wire::TupleBlock> blocks_;
  bool numbered_;  // from the beginning if nothing waits for the hosts
  bool table_taken_ = false;
  std::uint32_t epoch_ = 0;
  std::array<std::uint32_t, kBarrierKinds> barrier_{}, opened_{};
  std::vector<wire::ProcessExit> crashes_;
  std::map<std::uint32_t, std::uint32_t> restarted_;
  wire::MovedProcesses moved_;
  wire::ProcessSet finished_;  // as they should, where they are named
  std::uint32_t registered_ = 0;
  std::uint32_t ended_ = 0;
  std::uint32_t exited_ = 0;                   // without having registered
  std::optional<std::uint32_t> first_ok_;      // the first of them with status 0
  std::optional<wire::Code> code_;             // the first non-zero of an ending
  std::optional<wire::ProcessExit> bad_exit_;  // the first plain process that failed
  std::size_t bad_exits_ = 0;
  std::optional<Losses> losses_;       // of a job that goes on
  std::optional<Verdict> first_loss_;  // if all were to be lost, too
  Instant register_by_ = kNever;
  Instant answer_by_ = kNever;  // somebody, while hosts are missing
  bool stalled_ = false;
  std::optional<Verdict> verdict_;
  Aftermath aftermath_;
  ProcessEnds ends_;
  std::vector<Progress::Failure> failed_;
};

}  // namespace charmtree::proto
