// SPDX-License-Identifier: Apache-2.0
// Limits for the viewers of a job, so that they cost it next to nothing: all together get output at a limited
// rate, and each only as fast as it reads. Bytes that are left out are counted. Recent output is kept for
// viewers that come later. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <variant>

#include "charmrun/control/view_message.hpp"
#include "tree/base/time.hpp"

namespace charmtree::control {

/// The cost of a piece of output beside its text, in bytes.
inline constexpr std::size_t kViewPiece = 64;

/// The bytes that may go to all viewers together.
class ViewBudget {
public:
  /// Bytes in a second, and at once: more than a person reads, and less than a hundredth of what charmrun can
  /// show.
  static constexpr std::size_t kRate = 4U << 20, kBurst = 4U << 20;

  /// Returns false if so many bytes may not go now.
  bool take(std::size_t bytes, Instant now);

private:
  std::size_t left_ = kBurst;
  Instant filled_{};
};

/// The output that one viewer gets.
class ViewFeed {
public:
  /// Unread bytes above which output is left out, and below which it goes on.
  static constexpr std::size_t kMostUnread = 1U << 20, kGoOnBelow = kMostUnread / 4;

  /// Returns true if a piece of that size can be sent to a viewer with `unread` bytes. After a piece that was
  /// left out, further ones are, until the viewer is notified: it sees few gaps, and long ones.
  bool can_take(std::size_t bytes, std::size_t unread) const {
    return missed_ == 0 && unread + bytes <= kMostUnread;
  }
  /// Counts a piece that is left out.
  void miss(std::size_t bytes) { missed_ += bytes; }
  bool misses() const { return missed_ > 0; }
  /// Returns the bytes that were left out, of which the viewer is to be notified now. 0: none, or it has too
  /// much to read.
  std::uint64_t take_missed(std::size_t unread);

private:
  std::uint64_t missed_ = 0;
};

/// The most recent output and lines of charmrun.
class ViewHistory {
public:
  static constexpr std::size_t kMostBytes = 16U << 10;
  using Piece = std::variant<Line, Printed>;

  void add(Line line);
  /// Keeps the last lines of a long piece.
  void add(const proto::Show& action);
  const std::deque<Piece>& pieces() const { return pieces_; }

private:
  void put(Piece piece, std::size_t bytes);

  std::deque<Piece> pieces_;
  std::deque<std::size_t> sizes_;
  std::size_t bytes_ = 0;
};

}  // namespace charmtree::control
