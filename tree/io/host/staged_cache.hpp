// SPDX-License-Identifier: Apache-2.0
// Where the files of jobs are kept on a host (wire::StagedFiles): a folder of the user's own,
// ~/.cache/charmtree-files, or /tmp/charmtree-files-UID (SharedPlace) where that is on a file system that
// hosts share, or on one from which nothing may be executed. In it
//   contents/DIGEST-MODE-DATE  a file by its SHA-256, its permissions and its date, read-only, whole
//   contents/DIGEST.part  what has come of one; another job goes on from there
//   jobs/DIGEST/       the files of a job by their names, as hard links: what a job refers to
// What no job has used for 30 days goes, and of jobs that are over all but those that were used last.
// At the root, pieces are read from the user's own files instead.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "staging/events.hpp"
#include "tree/io/digest.hpp"
#include "tree/io/unique_fd.hpp"
#include "tree/turn/events.hpp"

namespace charmtree::io {

class StagedCache {
public:
  /// Folders of jobs that are kept, with that of this one.
  static constexpr std::size_t kMostJobs = 8;

  explicit StagedCache(std::function<void(proto::Event)> sink) : sink_(std::move(sink)) {}

  void execute(const staging::FindFiles& action);
  void execute(const staging::WritePiece& action);
  void execute(const staging::ReadPiece& action);

  /// Of the job's files, on a host.
  const std::string& folder() const { return folder_; }

private:
  struct Arriving {
    std::uint32_t file;
    UniqueFd fd;
    std::string path;
    std::uint64_t held;  // bytes
    Digest digest;
  };
  struct Reading {
    std::uint32_t file;
    UniqueFd fd;
  };

  std::optional<Error> open_folder();
  bool open_folder_in(const std::string& place);
  bool is_here(const wire::StagedFile& file) const;
  std::optional<Error> open_part(std::uint32_t number);
  std::optional<Error> keep();
  std::string content_of(const wire::StagedFile& file) const;
  std::string part_of(const wire::StagedFile& file) const;
  int to_read(std::uint32_t number);

  std::function<void(proto::Event)> sink_;
  std::shared_ptr<const wire::StagedFiles> files_;
  bool is_root_ = false;
  std::string cache_, folder_;
  UniqueFd lock_;  // while it is there, the folder of the job is not tidied away
  std::optional<Arriving> arriving_;
  std::optional<Reading> reading_;  // whole
};

}  // namespace charmtree::io
