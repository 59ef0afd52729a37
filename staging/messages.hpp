// SPDX-License-Identifier: Apache-2.0
// The messages that carry the job's files down the tree.
#pragma once

#include <cstdint>
#include <string>

#include "tree/base/error.hpp"
#include "tree/wire/message.hpp"

namespace charmtree::staging {

/// Bytes that a launcher may request beyond those that it has.
inline constexpr std::uint64_t kWindow = 4U << 20;
/// Bytes of a piece, at most.
inline constexpr std::uint64_t kPiece = 128U << 10;

/// A piece of a file, in order.
struct StagedPiece {
  CT_MESSAGE(down, 44);
  std::uint32_t file = 0;  // its place in wire::StagedFiles::files
  std::uint64_t offset = 0;
  std::string bytes;
};
/// Answers PieceWanted: no further piece of the file comes.
struct PieceRefused {
  CT_MESSAGE(down, 45);
  std::uint32_t file = 0;
  Error why;
};
/// The child has the bytes before `offset`, and requests those before `until`. The parent does not repeat
/// bytes that it has sent, except when they are wanted `anew`.
struct PieceWanted {
  CT_MESSAGE(up, 88);
  std::uint32_t file = 0;
  std::uint64_t offset = 0, until = 0;
  bool anew = false;
};

}  // namespace charmtree::staging
