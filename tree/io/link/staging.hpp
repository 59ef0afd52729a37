// SPDX-License-Identifier: Apache-2.0
// How a host on which charmrun is not installed gets this one, over the link that its launcher will have: a
// shell there asks (wire::StageRequest), and goes by the script that it gets (remote_command).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "tree/base/result.hpp"
#include "tree/io/elf_file.hpp"
#include "tree/io/link/remote_command.hpp"
#include "tree/wire/greeting.hpp"

namespace charmtree::io {

/// The file that this program runs from.
class OwnFile {
public:
  /// Also if it has been replaced or deleted meanwhile. Null: it cannot be read.
  static std::shared_ptr<OwnFile> open();

  /// Named by the build ID, by which its linker names its contents, and its size (strip leaves the ID as it
  /// is); without an ID by its digest.
  const StagedLauncher& description() const { return description_; }
  /// SHA-256, in hexadecimal digits: the first time all of it is read.
  const std::string& digest();
  /// At most `size` bytes from `offset`; empty: the end, or an error.
  std::string read(std::uint64_t offset, std::size_t size) const { return file_.read(offset, size); }

private:
  explicit OwnFile(ElfFile file) : file_(std::move(file)) {}
  ElfFile file_;
  StagedLauncher description_;
  std::string digest_;
};

/// Of one link, before its greeting.
class Staging {
public:
  /// `launcher`: where it was looked for there. `file` is not null.
  Staging(std::string launcher, std::shared_ptr<OwnFile> file)
      : launcher_(std::move(launcher)), file_(std::move(file)) {}

  /// What to send. Error: it cannot be sent there, or was asked for out of turn.
  Result<std::string> answer(const wire::StageRequest& request);
  /// What to send when that has gone, and again and again; empty: that was all, or all is there.
  std::string next_piece();
  /// Bytes of the file that were sent; 0: it is in the cache there, or nobody has asked.
  std::uint64_t sent() const { return sent_; }

private:
  enum class State : std::uint8_t { awaited, asked, sends };

  std::string launcher_;
  std::shared_ptr<OwnFile> file_;
  State state_ = State::awaited;
  std::uint64_t sent_ = 0;
};

}  // namespace charmtree::io
