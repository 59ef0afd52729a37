// SPDX-License-Identifier: Apache-2.0
// The processes of a job that goes on when some are lost (++on-failure continue): who has ended as it should,
// who is lost, and when the others are told. Each process counts once, however often and in whatever order
// its end, its loss and that of its launcher are told.
//
// Barriers. Counts of who entered are summed up on the way to the root, so of a sum nobody can say whose
// entries are in it: a launcher may have died with counts that it had not sent, or had sent. Therefore every
// loss begins an epoch: with wire::Lost all counts of the one before are void, wherever they are, each
// launcher tells anew which of its own processes are in a barrier, and the root waits for all that are not
// lost. Links keep the order of messages, so a launcher tells in the new epoch only what happened after the
// last Release before it. Until the others have been told, the root waits for the lost one, too: that may be
// in vain, but opens no barrier too early.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tree/base/time.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree::proto {

/// Some processes are lost, for one reason.
struct Loss {
  std::vector<wire::ProcessSet::Range> processes;
  std::uint32_t host = 0;  // where it happened
  std::string how;         // in words, without host and process
  std::string line;        // for the user
};

class Losses {
public:
  using Ranges = std::vector<wire::ProcessSet::Range>;
  /// The others are told no more often, so that a storm of losses does not become one of messages.
  static constexpr Duration kPause = 20ms;
  /// Losses that get a line each.
  static constexpr std::size_t kMaxLines = 100;
  /// Bytes of the numbers in the summary.
  static constexpr std::size_t kMaxWhich = 200;

  explicit Losses(const wire::JobSpec& job) : job_(job) {}

  /// These have ended as they should.
  void ended(const Ranges& processes);
  /// These are lost. Those among them of whom nothing was known, who are so from now on.
  Ranges lost(const Ranges& processes);
  /// What there is to say of it.
  void add(Loss loss);
  std::vector<Loss> take_news();

  /// Who has ended, one way or the other.
  std::uint32_t done() const { return static_cast<std::uint32_t>(ended_.size() + lost_.size()); }
  const wire::ProcessSet& lost() const { return lost_; }
  /// "2 of 8 processes were lost (3,7); the job went on without them"
  std::string summary() const;

  /// An epoch is to begin though nobody is lost: counts of barriers may have been, with a link.
  void count_anew() { counts_anew_ = true; }
  /// Another root has told everybody of these, in that epoch: this one goes on from there, with a new epoch.
  void resume(std::uint32_t epoch, const Ranges& lost);
  /// What the others are to be told now, if anything.
  std::optional<wire::Lost> tell(Instant now);
  Instant next_deadline() const { return untold_.empty() && !counts_anew_ ? kNever : tell_at_; }
  /// Whom a barrier waits for in the present epoch.
  std::uint32_t awaited() const { return awaited_.value_or(job_.processes); }

private:
  const wire::JobSpec& job_;
  wire::ProcessSet ended_, lost_;  // nobody is in both
  wire::ProcessSet gone_;          // the lost, and who had ended before its launcher was lost
  Ranges untold_;                  // part of these
  bool counts_anew_ = false;
  std::optional<std::uint32_t> awaited_;
  std::uint32_t epoch_ = 0;
  Instant tell_at_ = Instant::min();
  std::vector<Loss> news_;
  std::size_t lines_ = 0;
};

}  // namespace charmtree::proto
