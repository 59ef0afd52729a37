// SPDX-License-Identifier: Apache-2.0
// How much those who look at a job are shown of its output, so that they cost it next to nothing: together no
// more than a rate, and nobody more than he reads. What is left out is counted. And the last of it, for who
// comes later. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <variant>

#include "charmrun/session/view_message.hpp"
#include "tree/base/time.hpp"

namespace charmtree {

/// What a piece of output costs beside its text, in bytes, however short it is.
inline constexpr std::size_t kViewPiece = 64;

/// Bytes that may go to all viewers together.
class ViewBudget {
public:
  /// In a second, and at once: more than anybody reads, and less than a hundredth of what a root can show.
  static constexpr std::size_t kRate = 4U << 20, kBurst = 4U << 20;

  /// False: not now.
  bool take(std::size_t bytes, Instant now);

private:
  std::size_t left_ = kBurst;
  Instant filled_{};
};

/// What one viewer gets.
class ViewFeed {
public:
  /// Bytes that he has yet to read, before anything is left out, and to go on.
  static constexpr std::size_t kMostUnread = 1U << 20, kGoOnBelow = kMostUnread / 4;

  /// A piece of output of that size can be sent to him who has yet to read `unread` bytes. Once one has been
  /// left out, so are those behind it until that is told: what he sees has few gaps, and long ones.
  bool can_take(std::size_t bytes, std::size_t unread) const {
    return missed_ == 0 && unread + bytes <= kMostUnread;
  }
  /// That piece is left out.
  void miss(std::size_t bytes) { missed_ += bytes; }
  bool misses() const { return missed_ > 0; }
  /// What has been left out is told now: so many bytes; 0: nothing, or he has too much to read.
  std::uint64_t take_missed(std::size_t unread);

private:
  std::uint64_t missed_ = 0;
};

/// The last that was shown or said.
class ViewHistory {
public:
  static constexpr std::size_t kMostBytes = 16U << 10;
  using Piece = std::variant<session::Said, session::ToShow>;

  void add(session::Said said);
  /// Of a long piece its last lines.
  void add(const proto::Show& action);
  const std::deque<Piece>& pieces() const { return pieces_; }

private:
  void put(Piece piece, std::size_t bytes);

  std::deque<Piece> pieces_;
  std::deque<std::size_t> sizes_;
  std::size_t bytes_ = 0;
};

}  // namespace charmtree
