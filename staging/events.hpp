// SPDX-License-Identifier: Apache-2.0
// The events and actions of the staging service. On a host io::StagedCache executes the actions.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tree/base/error.hpp"
#include "tree/turn/events.hpp"
#include "tree/wire/staging.hpp"

namespace charmtree::staging {

using proto::Action;
using proto::Event;

// ---- events

/// Answers FindFiles: this host has so many bytes of each file and can read them; or why it can read none.
struct FilesFound {
  using Family = Event;
  std::vector<std::uint64_t> held;
  std::optional<Error> error = {};
};
/// Answers WritePiece: this host has so many bytes of the file now; 0 also if it had all and they were wrong.
struct FileWritten {
  using Family = Event;
  std::uint32_t file;
  std::uint64_t held;
  std::optional<Error> error = {};
};
/// Answers ReadPiece. Without bytes: the file does not have them any more.
struct PieceRead {
  using Family = Event;
  proto::LinkId link;
  std::uint32_t file;
  std::uint64_t offset;
  std::string bytes;
  std::optional<Error> error = {};
};

// ---- actions

/// Find out which of the job's files this host has; at the root, all of them at their sources. The answer is
/// FilesFound. proto::Prepared waits for FilesStaged then.
struct FindFiles {
  using Family = Action;
  std::shared_ptr<const wire::StagedFiles> files;
  bool at_root;
};
/// Write these bytes behind those that this host has of the file. Without bytes: find out how many it has.
/// The answer is FileWritten.
struct WritePiece {
  using Family = Action;
  std::uint32_t file;
  std::uint64_t offset;
  std::string bytes;
};
/// Read so many bytes of a file, which this host has, for the child at `link`. The answer is PieceRead.
struct ReadPiece {
  using Family = Action;
  proto::LinkId link;
  std::uint32_t file;
  std::uint64_t offset;
  std::uint32_t size;
};
/// This host has all files, or `error` says why not.
struct FilesStaged {
  using Family = Action;
  std::optional<Error> error;
};

}  // namespace charmtree::staging
