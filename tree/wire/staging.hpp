// SPDX-License-Identifier: Apache-2.0
// The files that the hosts of a job get from the root's host: the program, its own libraries, its input
// files. A part of the description of a job; the staging service (staging/service.hpp) carries them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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

}  // namespace charmtree::wire
