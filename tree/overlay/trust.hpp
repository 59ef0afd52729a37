// SPDX-License-Identifier: Apache-2.0
// What a child may say. It speaks only for the hosts and processes that it was given: whom a message names
// stands in its row (wire/message_rows.cpp), what else must be true of it is looked at here. And it says no
// more and nothing longer than there can be to say (Allowances), so that no launcher that has been taken over
// fills the memory of those above it, or its user's screen. Who breaks one of these rules loses its link.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "tree/overlay/allowances.hpp"
#include "tree/turn/turn.hpp"

namespace charmtree::proto {

class Trust {
public:
  /// Why this message ends its link; nothing: it does not, and has been counted. `epoch` is the present one.
  /// Precondition: the child at `link` is up.
  std::optional<Error> refusal(LinkId link, const wire::Message& message, std::uint32_t epoch, Turn& turn);
  /// False: it is a line that the user is not to read.
  bool has_room(LinkId link, const wire::Message& message, Instant now);
  /// Cuts texts that would be kept beyond what that child has said already leaves room for; lines have a
  /// limit of their own (has_room).
  void shorten_texts(LinkId link, wire::Message& message, Instant now);
  /// Leaves out what this turn says to the user from that place on, if it is too much: it was said because of
  /// a message from this child. Errors stay: they are told once each, by those who find them.
  void leave_out_lines(LinkId link, std::size_t from, Turn& turn);
  /// How many were left out, once that is to be told; with `all`, now.
  void tell_left_out(const Launch& launch, Turn& turn, bool all = false);
  Instant next_deadline() const { return allowances_.next_deadline(); }

  /// What the child at `link` may speak for. One that is about to be adopted (`is_claimed`) may know of every
  /// loss in the job.
  static wire::Remit remit(const Launch& launch, const wire::JobSpec& job, LinkId link, bool is_claimed);
  /// What is said of one who speaks for others.
  static Error lie();

private:
  Allowances allowances_;
};

}  // namespace charmtree::proto
