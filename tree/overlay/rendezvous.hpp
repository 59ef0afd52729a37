// SPDX-License-Identifier: Apache-2.0
// The root's roll call of a job that mpiexec, or another command, starts: which processes have come, from
// which launchers, and when that has failed. Every process comes once, by its rank; all of a host come
// through the one launcher that they have elected. The hosts are known when all are there, and only then does
// the job begin.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tree/base/error.hpp"
#include "tree/base/time.hpp"
#include "tree/wire/mpiexec_message.hpp"

namespace charmtree::proto {

/// A connection that has proved itself, counted from 1 by whoever accepts them.
using RendezvousId = std::uint64_t;

class Rendezvous {
public:
  /// A launcher and how many processes have come through it.
  struct Seat {
    RendezvousId launcher = 0;
    std::string host;
    std::uint32_t processes = 0;
    friend bool operator==(const Seat&, const Seat&) = default;
  };

  /// What starts them, and whether it numbers them from 0 on without gaps; else each has some number of its
  /// own.
  struct Starter {
    std::string name = "mpiexec";
    bool counts = true;
  };
  /// `patience`: how long no further process may come.
  Rendezvous(std::uint32_t processes, Duration patience, Starter starter)
      : processes_(processes), patience_(patience), starter_(std::move(starter)) {}

  void begin(Instant now) { await_next(now); }
  void report(RendezvousId launcher, const wire::RankReport& report, Instant now);
  /// The connection is gone. That mpiexec has ended says more, if that is heard within a moment.
  void lost(RendezvousId launcher, const Error& error, Instant now);
  /// `how` in words, "exited with status 1"; `said`: its last line, may be empty.
  void mpiexec_ended(const std::string& how, const std::string& said);
  void tick(Instant now);
  Instant next_deadline() const { return complete() || error_ ? kNever : earlier(give_up_at_, fail_at_); }

  bool complete() const { return !error_ && ranks_.size() == processes_ && fail_at_ == kNever; }
  /// Why it has failed; for ever.
  const std::optional<Error>& error() const { return error_; }
  /// The launchers in the order of their lowest ranks.
  std::vector<Seat> seats() const;
  /// "3 of 8 processes have come, missing: 1, 4-7"; who is missing only where they are counted.
  std::string progress() const;

private:
  static constexpr Duration kMoment = 1s;
  void fail(std::string what, std::string fix);
  void await_next(Instant now) { give_up_at_ = now + patience_; }

  std::uint32_t processes_;
  Duration patience_;
  Starter starter_;
  std::map<std::uint32_t, RendezvousId> ranks_;
  std::map<RendezvousId, std::string> hosts_;
  std::optional<Error> error_, pending_;
  Instant give_up_at_ = kNever, fail_at_ = kNever;
};

}  // namespace charmtree::proto
