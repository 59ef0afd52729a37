// SPDX-License-Identifier: Apache-2.0
// How the job ends: decided once, by the first cause, and what may change it after that: signals of the
// user's, and output that is lost. Which status a cause gives: ExitRecord; the rules:
// docs/manual/exit-status.md.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tree/base/error.hpp"
#include "tree/job/launch_state.hpp"
#include "tree/turn/ending.hpp"
#include "tree/turn/process_end.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree::proto {

/// How the job ends. `lines` is what the user should read, first cause first; empty for a normal end.
struct Verdict {
  int status = 0;
  int signal = 0;  // the launcher itself dies of it
  wire::End end;
  std::vector<std::string> lines;
  Ending why = {};
};

/// The processes are asked to end, because of this; `why.how` is `line` unless it is said.
Verdict failure(int status, std::string line, Ending why = {Cause::launcher});

class Decision {
public:
  /// Both must outlive this object.
  Decision(const wire::JobSpec& job, const LaunchState& launch) : job_(job), launch_(launch) {}

  /// The first time: this is it. `unfinished` processes are there still.
  void decide(Verdict verdict, std::uint32_t unfinished = 0);
  /// The job cannot be done as a whole.
  void refuse(const Error& error);
  /// Too few hosts are left.
  void too_few(const std::string& line);
  /// There is nothing to run: all is well.
  void nothing_to_run() { decide({}); }
  void time_limit_reached();
  /// A signal of the user's: the first ends the job with a grace, the second at once, unless it is TERM or
  /// HUP: these often come twice, as from `timeout`, or from a shell and its terminal. A job that is ending
  /// anyway ends at once; by TERM and HUP, it dies of them.
  void interrupted(int signal);
  /// Of this host, and maybe of others, not all output has come: a job that has ended well has not.
  void lose_output(std::uint32_t host, const std::string& how);
  /// So often has it been started again by now.
  void restarted(std::uint32_t process, std::uint32_t times) { restarted_[process] = times; }
  /// A process has ended after the decision.
  void ended(const wire::ProcessExit& exit) { aftermath_.on(exit, verdict_->end.signal); }
  /// Records that `process` has aborted: by this the job ends, or by an earlier cause.
  void aborted(std::uint32_t process) { aftermath_.aborted(process); }
  /// The process by whose crash the job ends was in these functions, the outermost first.
  void crashed_in(std::vector<std::string> frames) { verdict_->why.stack = std::move(frames); }
  /// The verdict was one on a run, and is to be followed by one on the job.
  void reopen() { verdict_.reset(); }

  /// Once made, it does not change, except that a second interrupt turns its end into a kill, and for output
  /// that is lost.
  const std::optional<Verdict>& verdict() const { return verdict_; }
  /// All processes have ended, and what they have printed is waited for.
  bool awaits_output() const {
    return verdict_ && verdict_->end.mode == wire::EndMode::finish && !job_.checkup;
  }
  /// What became of the processes that the verdict ended; empty if it ended none for another one's sake.
  std::string aftermath() const { return aftermath_.line(); }

private:
  void interrupted_again(int signal, bool twice);

  const wire::JobSpec& job_;
  const LaunchState& launch_;
  std::map<std::uint32_t, std::uint32_t> restarted_;
  std::optional<Verdict> verdict_;
  Aftermath aftermath_;
};

}  // namespace charmtree::proto
