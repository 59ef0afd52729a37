// SPDX-License-Identifier: Apache-2.0
// Merging what comes up: facts of this host and of the children become one Facts message to the parent. Each
// kind of fact knows when it is worth sending: tuples and barriers when the whole subtree has given its part
// (one message per launcher), bad news at once, all the rest when complete or after a short delay. Knows
// nothing of links or policy.
#pragma once

#include <array>
#include <optional>

#include "tree/clients/client_server.hpp"
#include "tree/overlay/subtree.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree::proto {

class Gather {
public:
  /// How long news that need no haste wait for company.
  static constexpr Duration kDelay = 20ms;
  /// How long tuples wait for those of the rest of the subtree: the root then knows which hosts are late.
  static constexpr Duration kBlocksDelay = 1s;

  /// Adds facts (of this host or of a child) and marks answers in `subtree`.
  void add(wire::Facts facts, Instant now);
  /// What is due, or nothing. `processes`: all at this host and below; `complete`: every host here and below
  /// has told its tuples; `settled`: every one has answered, and somebody waits to hear it; `ending`: whoever
  /// ends now was told to.
  struct Progress {
    std::uint32_t processes;
    bool complete;
    bool settled;
    std::uint32_t survivors = UINT32_MAX;  // of a crash: processes here and below that learn of it
    bool ending = false;
  };
  std::optional<wire::Facts> due(const Progress& progress, Instant now);
  /// Who has ended is going to be told as a whole.
  void forget_ends();
  /// Nobody waits for tuples any more.
  void forget_tuples();
  /// What is pending is due.
  void hurry(Instant now) { deadline_ = now; }
  /// A barrier has opened; from now on its next round is counted.
  void released(BarrierKind kind) { sent_[static_cast<std::size_t>(kind)] = 0; }
  /// What was counted for tables before this one is void.
  void begin_epoch(std::uint32_t epoch);
  Instant next_deadline() const { return earlier(deadline_, blocks_by_); }

private:
  bool urgent(const Progress& progress) const;
  bool entered_by_all(std::size_t kind, const Progress& progress) const;

  wire::Facts pending_;  // its epoch is the present one
  // Entries of this round of each barrier that have gone up: a subtree that was complete may get more hosts.
  std::array<std::uint32_t, kBarrierKinds> sent_{};
  std::uint32_t finished_ = 0;  // ended, or exited without having registered
  Instant deadline_ = kNever;
  Instant blocks_by_ = kNever;
};

}  // namespace charmtree::proto
