// SPDX-License-Identifier: Apache-2.0
// Files that the hosts of a job get from the root's: the program, its own libraries, what it reads. A
// launcher that lacks one asks its parent for it, piece by piece, and hands on what it has: so that a
// launcher that comes late needs nothing else.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tree/base/error.hpp"
#include "tree/wire/message.hpp"

namespace charmtree::wire {

struct StagedFile {
  std::string name;           // its path below the folder of the job's files, the same on every host
  std::string source;         // its path on the root's host
  std::uint64_t size = 0;     // bytes
  std::string digest;         // SHA-256, 32 bytes
  std::uint32_t mode = 0400;  // permissions; nobody may write to it, since jobs may share it
  std::int64_t modified = 0;  // its date, in seconds since 1970
  bool is_executable() const { return (mode & 0100U) != 0; }
  friend bool operator==(const StagedFile&, const StagedFile&) = default;
};

/// A program of the job that is among these files.
struct StagedProgram {
  std::string name;        // of its file
  std::uint32_t word = 0;  // of its command: 0: that is executed; else it is that argument
  friend bool operator==(const StagedProgram&, const StagedProgram&) = default;
};

struct StagedFiles {
  std::vector<StagedFile> files;
  std::vector<StagedProgram> programs;  // all, in the order of the job's, or none
  friend bool operator==(const StagedFiles&, const StagedFiles&) = default;
};

/// Where programs find their own libraries and what the user has named, below the folder of the job's files.
inline constexpr std::string_view kStagedLibraries = "lib", kStagedInputs = "files";

/// A launcher may ask for so much more than it has; a piece has so many bytes at most.
inline constexpr std::uint64_t kStagedWindow = 4U << 20, kStagedPiece = 128U << 10;

// ---- down: parent to child

struct StagedPiece {
  CT_MESSAGE(down, 44);
  std::uint32_t file = 0;  // its place in StagedFiles::files
  std::uint64_t offset = 0;
  std::string bytes;
};
/// Answer to PieceWanted: nothing more comes.
struct PieceRefused {
  CT_MESSAGE(down, 45);
  std::uint32_t file = 0;
  Error why;
};

// ---- up: child to parent

/// I have what stands before `offset`, and can take what stands before `until`. What was sent of it before is
/// not sent again, unless it is wanted `anew`.
struct PieceWanted {
  CT_MESSAGE(up, 88);
  std::uint32_t file = 0;
  std::uint64_t offset = 0, until = 0;
  bool anew = false;
};

}  // namespace charmtree::wire
