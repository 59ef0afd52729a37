// SPDX-License-Identifier: Apache-2.0
// How long a message may be, by its type and by what its sender may speak for. A child that has been taken
// over says whatever it likes: what comes from it is refused before it takes memory. A parent is believed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tree/wire/codec.hpp"
#include "tree/wire/frame.hpp"

namespace charmtree::wire {

/// Most messages of a child: a few numbers, a line for people, a key.
inline constexpr std::size_t kMaxSaid = 64U << 10;
/// Host keys and what is to be signed by one: ten times those of the longest RSA keys that are in use.
inline constexpr std::size_t kMaxKey = 16U << 10;
/// Lists that can be divided: longer ones are.
inline constexpr std::size_t kMaxList = 1U << 20;
/// Queue pairs of the processes of two hosts with 590 each: they go in one piece.
inline constexpr std::size_t kMaxQueuePairs = 4U << 20;
/// A line of output, a text or a format as long as clients may send them, a piece of a CCS answer.
inline constexpr std::size_t kMaxPiece = (1U << 20) + kMaxSaid;
}  // namespace charmtree::wire
