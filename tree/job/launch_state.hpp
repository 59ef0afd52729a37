// SPDX-License-Identifier: Apache-2.0
// How far the launch has come, as the root sees it: which hosts have answered, which have failed, and until
// when there must be news of the others. What follows from that is the judge's to say.
//
// A host answers once, and a second time where processes are numbered when all have answered: then those that
// have been given processes answer with these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "tree/base/time.hpp"
#include "tree/turn/job_status.hpp"
#include "tree/wire/host.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree::proto {

class LaunchState {
public:
  /// `hosts` is the job's list, in order; both must outlive this object.
  LaunchState(const wire::JobSpec& job, const std::vector<Host>& hosts)
      : job_(job), hosts_(hosts), numbered_(!job.waits_for_all()) {}

  /// The launch begins. The `absent` hosts have failed already, in an earlier run of the program.
  void begin(const std::set<std::uint32_t>& absent, Instant now);
  /// Instead: another root has launched the job, and all processes have been started.
  void take_over();
  /// News from below, each host once.
  void answered(const std::vector<std::uint32_t>& up, std::vector<wire::HostFailure> failed, Instant now);
  /// There is nothing more to come from this one.
  void gone(std::uint32_t host) { answered_.insert(host); }
  /// The hosts have their processes, with which they have yet to answer.
  void numbered(Instant now);
  /// While the user reads no output, nobody is late.
  void stalled(bool stalled, Instant now);
  /// Nor while hosts are getting the job's files.
  void files_move(std::uint32_t percent, Instant now);
  /// Every step of a launch has its own limit; this one is for launchers that answered and then hang. The
  /// hosts that have been given up now: none of them had answered at all.
  std::vector<wire::HostFailure> give_up_silent();
  Instant next_deadline() const { return answer_by_; }

  /// Every host has answered or been given up.
  bool all_answered() const { return answered_.size() == hosts_.size(); }
  bool has_numbers() const { return numbered_; }
  /// Every host has started its processes.
  bool all_up() const { return numbered_ && up_ == hosts_.size(); }
  /// Processes are late if they do not register: not before every host has answered, since until then the
  /// launch has limits of its own.
  bool is_stalled() const { return stalled_; }
  bool limits_registrations() const { return all_answered() && !stalled_; }

  /// The hosts that have failed and have not been left out since, in order.
  std::vector<wire::HostFailure> failures() const;
  /// They are all hosts of the job.
  bool all_failed() const { return failures_.size() == hosts_.size(); }
  /// Equal errors are one line.
  std::vector<std::string> failure_lines() const;
  /// The job's status if a host that fails ends it: that of the first. Precondition: one has failed.
  int failure_status() const;
  /// Those, and the ones that were absent from the beginning.
  std::set<std::uint32_t> failed_hosts() const;
  /// Returns the line about hosts without which the program ran; empty: it ran on all, or does not drop
  /// hosts.
  std::string left_out() const;
  /// Their names.
  std::vector<std::string> unanswered() const;
  /// "3 of 4 hosts are up"
  std::string summary() const;
  /// Fills in what is said of hosts.
  void describe(JobStatus& status) const;

private:
  /// A launch without any news for so many times ++timeout is over; a checkup has less to wait for.
  static constexpr int kSilence = 3;
  Duration patience() const;
  void await_answers(Instant now);

  const wire::JobSpec& job_;
  const std::vector<Host>& hosts_;
  std::set<std::uint32_t> absent_;    // failed in an earlier run
  std::set<std::uint32_t> left_out_;  // failed in this one, before there were numbers
  std::set<std::uint32_t> answered_;
  std::size_t up_ = 0;
  std::uint32_t idle_ = 0;      // hosts that have been numbered and got no processes; they count as up
  std::uint32_t staged_ = 100;  // percent of the job's files
  std::vector<wire::HostFailure> failures_;
  bool numbered_;               // from the beginning if nothing waits for the hosts
  Instant answer_by_ = kNever;  // somebody, while hosts are missing
  bool stalled_ = false;
};

}  // namespace charmtree::proto
