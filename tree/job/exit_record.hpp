// SPDX-License-Identifier: Apache-2.0
// How the processes of a job have ended, as far as its status depends on that, with the words for it: how
// many, which was the first that failed, and who left before it had registered. It passes no judgement: which
// of these ends the job is the judge's to say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tree/job/decision.hpp"
#include "tree/job/failure_notices.hpp"
#include "tree/job/process_places.hpp"
#include "tree/job/registrations.hpp"
#include "tree/turn/events.hpp"
#include "tree/turn/process_ends.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree::proto {

/// What is said of a process that had registered and left of its own accord, behind how it ended, and a hint.
/// Both are empty for others.
struct EarlyLeave {
  std::string_view what, hint;
};
EarlyLeave early_leave(const wire::ProcessExit& exit);

class ExitRecord {
public:
  /// Both must outlive this object.
  ExitRecord(const ProcessPlaces& places, const Registrations& registrations)
      : places_(places), registrations_(registrations), notices_(places) {}

  /// These have ended as they should.
  void on(const wire::Facts& facts);
  /// How this one has ended, unless that is known.
  void note(const wire::ProcessExit& exit);
  void note(const wire::AbortUp& abort);
  /// What has become of these is not known, unless they have ended before.
  void note_lost(const std::vector<wire::ProcessSet::Range>& processes);
  /// So many processes are gone without the end of their protocol.
  void count_gone(std::uint32_t processes = 1) { gone_ += processes; }
  /// A process failed that had not registered.
  void failed(const wire::ProcessExit& exit);

  /// Some process has sent its `ending`.
  bool any_ended() const { return ended_ > 0; }
  bool any_gone() const { return gone_ > 0; }
  bool any_failed() const { return first_failed_.has_value(); }
  /// Some process is gone, or has failed, that has not begun to speak a protocol.
  bool any_silent() const { return first_ok_.has_value() || any_failed_silent(); }
  bool any_failed_silent() const { return first_failed_ && !first_failed_->ended; }
  std::uint32_t done() const { return ended_ + gone_; }
  const ProcessEnds& ends() const { return ends_; }
  /// A fault of its own has ended it, by a signal.
  bool has_crashed(std::uint32_t process) const;
  /// The processes that have failed since the last call.
  std::vector<Progress::Failure> take_failures() { return std::exchange(news_, {}); }

  /// Reports those of them without which the job continues.
  FailureNotices& notices() { return notices_; }
  const FailureNotices& notices() const { return notices_; }

  /// "host: run: process 3: killed by signal 9 (Killed)", and more behind it.
  std::string about(const wire::ProcessExit& exit, const std::string& more = {}) const;
  /// The job ends by this process; its status is nevertheless that of the first that failed.
  Verdict verdict_of(const wire::ProcessExit& exit, std::string_view more, std::string_view hint) const;
  Verdict verdict_of(const wire::AbortUp& abort) const;
  /// Somebody has left, and so many others wait for it, for that.
  Verdict verdict_of_early(std::uint32_t waiting, std::string_view before, std::string_view where) const;
  /// All have ended.
  Verdict verdict_at_end() const;

private:
  void note(std::uint32_t process, const WayToEnd& way, const std::string& how);
  Ending ending_of(const wire::ProcessExit& exit) const;
  Phase phase_of(const wire::ProcessExit& exit) const;
  std::string first_failure() const;
  /// The status and the line of the first that failed, if one has, before this one, by which the job ends.
  Verdict with_first(std::optional<std::uint32_t> process, Verdict verdict) const;

  const ProcessPlaces& places_;
  const Registrations& registrations_;
  std::uint32_t ended_ = 0;
  std::uint32_t gone_ = 0;
  std::optional<std::uint32_t> first_ok_;          // the first with status 0 that had not registered
  std::optional<wire::Code> code_;                 // the first non-zero of an ending
  std::optional<wire::ProcessExit> first_failed_;  // of those that had not registered
  std::size_t failed_ = 0;
  ProcessEnds ends_;
  std::vector<Progress::Failure> news_;
  FailureNotices notices_;
};

}  // namespace charmtree::proto
