// SPDX-License-Identifier: Apache-2.0
#include "tree/io/host/staged_cache.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <vector>

#include "tree/base/hexadecimal.hpp"
#include "tree/base/join.hpp"
#include "tree/io/private_folder.hpp"
#include "tree/io/surroundings.hpp"
#include "tree/io/write_error.hpp"

namespace charmtree::io {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kRead = 1U << 20;  // at a time
constexpr std::time_t kDay = 24 * 60 * 60;
constexpr std::time_t kUnused = 30 * kDay, kUnfinished = 7 * kDay, kUnreferred = kDay;
constexpr int kTries = 3;
constexpr mode_t kPrivate = 0600;

Error disk_error(std::string what, std::string fix = "is there room, and may you write there?") {
  return {Errc::spawn_failed, Phase::spawn, fmt::format("{}: {}", what, write_error(errno)), std::move(fix)};
}

/// Of file systems that hosts share: each of them would write its own copy there. Those without a name in
/// <linux/magic.h>: GFS2, Lustre, GPFS, BeeGFS.
bool is_shared(const std::string& folder) {
  constexpr std::array<unsigned long, 14> kShared{
      V9FS_MAGIC,       OCFS2_SUPER_MAGIC, 0x01161970,       NFS_SUPER_MAGIC, SMB_SUPER_MAGIC,
      CIFS_SUPER_MAGIC, SMB2_SUPER_MAGIC,  CEPH_SUPER_MAGIC, AFS_SUPER_MAGIC, AFS_FS_MAGIC,
      FUSE_SUPER_MAGIC, 0x0BD00BD0,        0x47504653,       0x19830326};
  struct statfs about {};
  return ::statfs(folder.c_str(), &about) == 0 &&
         std::find(kShared.begin(), kShared.end(), static_cast<unsigned long>(about.f_type)) != kShared.end();
}

bool can_execute_from(const std::string& folder) {
  struct statvfs about {};
  return ::statvfs(folder.c_str(), &about) == 0 && (about.f_flag & ST_NOEXEC) == 0;
}

/// Relative, and nowhere but below.
bool is_sound(const std::string& name) {
  const fs::path path{name};
  return !name.empty() && path.is_relative() && path.lexically_normal().string() == name &&
         *path.begin() != ".." && path.has_filename() && name != ".";
}

/// Its owner can read it; nobody can write to it, since it may be a file of several jobs.
mode_t mode_of(const wire::StagedFile& file) {
  constexpr mode_t kKept = 0555, kOwner = 0400;
  return (file.mode & kKept) | kOwner;
}

/// A file of ours that is whole has the date of the one at the root, to the second: a later change changes
/// it.
bool mark_whole(const UniqueFd& fd, const wire::StagedFile& file) {
  const std::array<timespec, 2> times{timespec{0, UTIME_OMIT}, timespec{file.modified, 0}};
  return ::fchmod(fd.get(), mode_of(file)) == 0 && ::futimens(fd.get(), times.data()) == 0;
}

bool is_whole(const std::string& path, const wire::StagedFile& file) {
  struct stat about {};
  return ::lstat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == ::geteuid() &&
         static_cast<std::uint64_t>(about.st_size) == file.size && about.st_mtim.tv_sec == file.modified &&
         about.st_mtim.tv_nsec == 0;
}

bool is_same_file(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

/// Both names are there, and mean one file.
bool are_same_file(const std::string& one, const std::string& other) {
  struct stat first {
  }, second{};
  return ::lstat(one.c_str(), &first) == 0 && ::lstat(other.c_str(), &second) == 0 &&
         is_same_file(first, second);
}

/// Nobody else has it, and it still is what has that name.
bool lock_named(const UniqueFd& fd, const std::string& path) {
  struct stat ours {
  }, named{};
  return ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0 && ::fstat(fd.get(), &ours) == 0 &&
         ::lstat(path.c_str(), &named) == 0 && is_same_file(ours, named);
}

/// The name of a file's content: files that differ in mode or date are several.
std::string content_name(const wire::StagedFile& file) {
  return fmt::format("{}-{:o}-{}", hexadecimal(file.digest), mode_of(file), file.modified);
}

/// By what it consists of.
std::string job_folder(const wire::StagedFiles& files) {
  Digest digest;
  for (const wire::StagedFile& file : files.files)
    digest.add(fmt::format("{}{}{}", file.name, '\0', content_name(file)));
  return hexadecimal(digest.end()).substr(0, 32);
}

struct Entry {
  std::string path;
  struct stat about {};
};

std::vector<Entry> entries_of(const std::string& folder) {
  std::vector<Entry> entries;
  std::error_code ignored;
  for (const auto& each : fs::directory_iterator{folder, ignored}) {
    Entry entry{each.path(), {}};
    if (::lstat(entry.path.c_str(), &entry.about) == 0) entries.push_back(std::move(entry));
  }
  return entries;
}

/// `part`: what it is called now; empty: it has no name.
bool give_name(const UniqueFd& fd, const std::string& part, const std::string& name) {
  if (!part.empty()) return ::rename(part.c_str(), name.c_str()) == 0;
  const std::string unnamed = fmt::format("/proc/self/fd/{}", fd.get());
  return ::linkat(AT_FDCWD, unnamed.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0 ||
         errno == EEXIST;
}

void remove_unless_used(const std::string& folder) {
  const UniqueFd fd{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
  if (!fd || ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) return;
  std::error_code ignored;
  fs::remove_all(folder, ignored);
}

/// `now`: by the clock of that file system; `most`: folders of jobs.
void tidy(const std::string& jobs, const std::string& contents, std::time_t now, std::size_t most) {
  std::vector<Entry> all = entries_of(jobs);
  std::sort(all.begin(), all.end(),
            [](const Entry& a, const Entry& b) { return a.about.st_mtime > b.about.st_mtime; });
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i >= most || now - all[i].about.st_mtime > kUnused) remove_unless_used(all[i].path);
  }
  for (const Entry& each : entries_of(contents)) {
    const bool is_part = each.path.ends_with(".part");
    const bool is_old = is_part ? now - each.about.st_mtime > kUnfinished
                                : each.about.st_nlink == 1 && now - each.about.st_ctime > kUnreferred;
    if (is_old) ::unlink(each.path.c_str());
  }
}

}  // namespace

/// False also if another launcher tidies it away just now.
bool StagedCache::open_folder_in(const std::string& place) {
  const std::string jobs = place + "/jobs", contents = place + "/contents";
  const std::string folder = jobs + "/" + job_folder(*files_);
  if (!make_private(contents) || !make_private(jobs) || !make_private(folder)) return false;
  UniqueFd lock{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
  struct stat about {};
  const bool is_there = lock && ::flock(lock.get(), LOCK_SH | LOCK_NB) == 0 &&
                        ::futimens(lock.get(), nullptr) == 0 && ::fstat(lock.get(), &about) == 0;
  if (!is_there || about.st_nlink == 0) return false;
  cache_ = contents;
  folder_ = folder;
  lock_ = std::move(lock);
  tidy(jobs, contents, about.st_mtime, kMostJobs);
  return true;
}

/// The first that will do.
std::optional<Error> StagedCache::open_folder() {
  const std::string home = own_variable("HOME").value_or("");
  const bool executes = std::any_of(files_->files.begin(), files_->files.end(),
                                    [](const wire::StagedFile& file) { return file.is_executable(); });
  const auto takes = [&](const std::string& place) {
    if (is_shared(place) || (executes && !can_execute_from(place))) return false;
    for (int tries = 0; tries < kTries; ++tries) {
      if (open_folder_in(place)) return true;
    }
    return false;
  };
  std::vector<std::string> places;
  if (home.starts_with('/')) {
    ::mkdir((home + "/.cache").c_str(), 0700);
    places.push_back(home + "/.cache/charmtree-files");
    if (make_private(places.back()) && takes(places.back())) return {};
  }
  const SharedPlace shared{"/tmp", "charmtree-files"};
  if (shared.find(takes)) return {};
  places.push_back(shared.usual());
  return Error{Errc::spawn_failed, Phase::spawn,
               fmt::format("no folder there takes the job's files (tried {})", join(places, " and ")),
               "is there one that is yours, has room, and is mounted without noexec?"};
}

std::string StagedCache::content_of(const wire::StagedFile& file) const {
  return cache_ + "/" + content_name(file);
}

/// Without its ending: files of one content need not come twice.
std::string StagedCache::part_of(const wire::StagedFile& file) const {
  return cache_ + "/" + hexadecimal(file.digest);
}

/// Under its name, perhaps from now on: what a program has put there instead goes.
bool StagedCache::is_here(const wire::StagedFile& file) const {
  const std::string path = folder_ + "/" + file.name, content = content_of(file);
  if (file.size == 0) {
    const UniqueFd fd{::open(content.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, mode_of(file))};
    if (fd) mark_whole(fd, file);
  }
  if (!is_whole(content, file)) return false;
  if (are_same_file(path, content)) return true;
  std::error_code failure;
  fs::create_directories(fs::path{path}.parent_path(), failure);
  ::unlink(path.c_str());
  return !failure && (::link(content.c_str(), path.c_str()) == 0 || are_same_file(path, content));
}

void StagedCache::execute(const staging::FindFiles& action) {
  files_ = action.files;
  is_root_ = action.at_root;
  arriving_.reset();
  reading_.reset();
  lock_.reset();
  staging::FilesFound found{std::vector<std::uint64_t>(files_->files.size()), {}};
  if (!is_root_) {
    for (const wire::StagedFile& file : files_->files) {
      if (!is_sound(file.name))
        found.error = Error{Errc::bad_peer, Phase::spawn, "a file of the job has no name that it may have"};
    }
    if (!found.error) found.error = open_folder();
  }
  for (std::size_t i = 0; i < found.held.size() && !found.error; ++i) {
    const wire::StagedFile& file = files_->files[i];
    if (is_root_ || is_here(file)) found.held[i] = file.size;
  }
  sink_(std::move(found));
}

/// What is left of one that another launcher here gets at the moment is not touched: this one has its own,
/// without a name where the file system can do that.
std::optional<Error> StagedCache::open_part(std::uint32_t number) {
  const wire::StagedFile& file = files_->files[number];
  Arriving& part = arriving_.emplace();
  part.file = number;
  part.path = part_of(file) + ".part";
  part.fd.reset(::open(part.path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, kPrivate));
  struct stat about {};
  if (!part.fd || ::fstat(part.fd.get(), &about) != 0) return disk_error(part.path);
  if (!lock_named(part.fd, part.path)) {
    part.path.clear();
    part.fd.reset(::open(cache_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, kPrivate));
    if (part.fd) return {};
    part.path = part_of(file) + ".XXXXXX.part";
    constexpr int kEnding = 5;  // ".part"
    part.fd.reset(::mkostemps(part.path.data(), kEnding, O_CLOEXEC));
    return part.fd ? std::nullopt : std::optional{disk_error(cache_)};
  }
  std::string bytes(kRead, '\0');
  ssize_t got = 0;
  while (static_cast<std::uint64_t>(about.st_size) <= file.size &&
         (got = ::pread(part.fd.get(), bytes.data(), bytes.size(), static_cast<off_t>(part.held))) > 0) {
    part.digest.add({bytes.data(), static_cast<std::size_t>(got)});
    part.held += static_cast<std::uint64_t>(got);
  }
  if (::ftruncate(part.fd.get(), static_cast<off_t>(part.held)) != 0) return disk_error(part.path);
  return {};
}

/// It is all there: is it what it should be?
std::optional<Error> StagedCache::keep() {
  Arriving& part = *arriving_;
  const wire::StagedFile& file = files_->files[part.file];
  if (part.digest.end() != file.digest) {
    part.held = 0;
    return ::ftruncate(part.fd.get(), 0) == 0 ? std::nullopt : std::optional{disk_error(cache_)};
  }
  const std::string content = content_of(file);
  if (!mark_whole(part.fd, file)) return disk_error(cache_);
  if (is_whole(content, file)) {  // another launcher was first
    if (!part.path.empty()) ::unlink(part.path.c_str());
  } else if (!give_name(part.fd, part.path, content)) {
    return disk_error(content);
  }
  arriving_.reset();  // who executes it must find that nobody can write to it
  return is_here(file) ? std::nullopt : std::optional{disk_error(folder_ + "/" + file.name)};
}

void StagedCache::execute(const staging::WritePiece& action) {
  staging::FileWritten written{action.file, 0, {}};
  if (!arriving_ || arriving_->file != action.file) written.error = open_part(action.file);
  if (written.error) return sink_(std::move(written));
  Arriving& part = *arriving_;
  const std::uint64_t size = files_->files[action.file].size;
  std::string_view rest = action.bytes;
  while (!rest.empty() && part.held == action.offset + (action.bytes.size() - rest.size())) {
    const ssize_t put = ::pwrite(part.fd.get(), rest.data(), rest.size(), static_cast<off_t>(part.held));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) {
      written.error =
          disk_error(fmt::format("no room for {} in {}", files_->files[action.file].name, cache_));
      break;
    }
    part.digest.add(rest.substr(0, static_cast<std::size_t>(put)));
    rest.remove_prefix(static_cast<std::size_t>(put));
    part.held += static_cast<std::uint64_t>(put);
  }
  written.held = part.held;
  if (!written.error && part.held == size) {
    written.error = keep();
    if (arriving_) written.held = arriving_->held;
  }
  sink_(std::move(written));
}

/// A descriptor of it; errno says why there is none.
int StagedCache::to_read(std::uint32_t number) {
  if (arriving_ && arriving_->file == number) return arriving_->fd.get();
  if (reading_ && reading_->file == number) return reading_->fd.get();
  const wire::StagedFile& file = files_->files[number];
  const std::string path = is_root_ ? file.source : folder_ + "/" + file.name;
  UniqueFd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!fd) return -1;
  return reading_.emplace(Reading{number, std::move(fd)}).fd.get();
}

void StagedCache::execute(const staging::ReadPiece& action) {
  if (action.file >= files_->files.size()) return;  // of a run that is over
  staging::PieceRead piece{action.link, action.file, action.offset, std::string(action.size, '\0'), {}};
  const int fd = to_read(action.file);
  std::size_t got = 0;
  while (fd >= 0 && got < piece.bytes.size()) {
    const ssize_t size = ::pread(fd, piece.bytes.data() + got, piece.bytes.size() - got,
                                 static_cast<off_t>(action.offset + got));
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    got += static_cast<std::size_t>(size);
  }
  const bool comes_anew = arriving_ && arriving_->file == action.file;  // it was not what it should be
  if (got < piece.bytes.size()) piece.bytes.clear();
  const wire::StagedFile& file = files_->files[action.file];
  const std::string& source = is_root_ ? file.source : file.name;
  if (fd < 0)
    piece.error = disk_error(source, "is it still there?");
  else if (piece.bytes.empty() && !comes_anew)
    piece.error = Error{Errc::spawn_failed, Phase::spawn, source + " has become shorter",
                        "leave the file as it is while hosts may join the job"};
  sink_(std::move(piece));
}

}  // namespace charmtree::io
