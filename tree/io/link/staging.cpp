// SPDX-License-Identifier: Apache-2.0
#include "tree/io/link/staging.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include <memory>

#include "tree/base/hexadecimal.hpp"
#include "tree/base/visible.hpp"
#include "tree/io/digest.hpp"
#include "tree/overlay/launch_failure.hpp"

namespace charmtree::io {

namespace {

constexpr const char* kSelf = "/proc/self/exe";
constexpr std::size_t kHashed = 1U << 20;  // at a time
constexpr std::size_t kPiece = 256U << 10;

Error not_there(std::string what) {
  return {Errc::no_launcher, Phase::exec, std::move(what), std::string{proto::kInstallLauncher}};
}

/// What `uname -m` says here.
std::string own_machine() {
  utsname names{};
  return ::uname(&names) == 0 ? names.machine : "";
}

}  // namespace

std::shared_ptr<OwnFile> OwnFile::open() {
  auto file = ElfFile::open(kSelf);
  struct stat about {};
  if (!file || ::stat(kSelf, &about) != 0) return nullptr;
  OwnFile own{std::move(*file)};
  own.description_.size = static_cast<std::uint64_t>(about.st_size);
  const std::string id = own.file_.build_id();
  own.description_.name =
      id.empty() ? own.digest() : fmt::format("{}-{}", hexadecimal(id), own.description_.size);
  return std::make_shared<OwnFile>(std::move(own));
}

const std::string& OwnFile::digest() {
  if (!digest_.empty()) return digest_;
  Digest digest;
  for (std::uint64_t at = 0; at < description_.size;) {
    const std::string piece = read(at, kHashed);
    if (piece.empty()) break;  // whoever gets it will see that it is too short
    digest.add(piece);
    at += piece.size();
  }
  digest_ = hexadecimal(digest.end());
  return digest_;
}

Result<std::string> Staging::answer(const wire::StageRequest& request) {
  const bool asks = request.word == wire::StageWord::ask;
  if (state_ != (asks ? State::awaited : State::asked))
    return not_there("a shell there asked for charmrun out of turn");
  if (asks) {
    state_ = State::asked;
    return staging_script(file_->description());
  }
  if (request.machine != own_machine())
    return not_there(fmt::format("{} not found, and ours is for {}, not for {}", launcher_, own_machine(),
                                 visible(request.machine)));
  state_ = State::sends;
  return file_->digest() + "\n";
}

std::string Staging::next_piece() {
  if (state_ != State::sends) return {};
  std::string piece = file_->read(sent_, kPiece);
  sent_ += piece.size();
  return piece;
}

}  // namespace charmtree::io
