// SPDX-License-Identifier: Apache-2.0
#include "charmrun/history_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "tree/io/unique_fd.hpp"

namespace charmtree {
namespace {

std::string reason(const std::string& path) {
  return fmt::format("{}: {}", path, strerror(errno));
}

/// The folder of `path` exists or is made, with two above it at most: a home is never made. False if it is
/// not ours, as when another user's home was kept by sudo.
bool make_folder(const std::string& path, int above = 2) {
  const std::string folder = path.substr(0, path.rfind('/'));
  struct stat info {};
  if (::stat(folder.c_str(), &info) == 0) return info.st_uid == ::geteuid();
  const bool parent = folder.rfind('/') != 0 && above >= 0 && make_folder(folder, above - 1);
  return parent && ::mkdir(folder.c_str(), 0700) == 0;
}

/// Homes that cannot be written are none of the user's worries.
bool is_usual(int error) {
  return error == ENOENT || error == EACCES || error == EPERM || error == EROFS || error == ENOTDIR;
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t size = ::write(fd, text.data(), text.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(size));
  }
  return true;
}

/// A temporary file takes the place of `path`. False with errno if that failed; nothing is left then.
bool replace_file(const std::string& path, std::string_view text) {
  const std::string temporary = fmt::format("{}.{}", path, ::getpid());
  ::unlink(temporary.c_str());  // of a process that had our number and was killed
  bool written = false;
  {
    const io::UniqueFd file{
        ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)};
    written = file.get() >= 0 && ::fchmod(file.get(), 0600) == 0 && write_all(file.get(), text);
  }
  if (written && ::rename(temporary.c_str(), path.c_str()) == 0) return true;
  const int error = errno;
  ::unlink(temporary.c_str());
  errno = error;
  return false;
}

}  // namespace

std::string history_path(std::string_view state_home, std::string_view home) {
  if (state_home.starts_with('/')) return fmt::format("{}/charmtree/history.json", state_home);
  if (home.starts_with('/')) return fmt::format("{}/.local/state/charmtree/history.json", home);
  return {};
}

HistoryRead read_history(const std::string& path) {
  const io::UniqueFd file{::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)};
  if (file.get() < 0) return {{}, is_usual(errno) ? "" : reason(path) + "; ignored"};
  struct stat info {};
  if (::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return {{}, path + ": not a file; ignored"};
  std::string text;
  std::array<char, 4096> buffer;
  ssize_t size = 0;
  while (text.size() <= History::kMaxText && (size = ::read(file.get(), buffer.data(), buffer.size())) > 0)
    text.append(buffer.data(), static_cast<std::size_t>(size));
  auto history = History::parse(text);
  if (!history) return {{}, fmt::format("{}: {}; ignored", path, history.error().what)};
  return {std::move(*history), {}};
}

std::string remember_logins(const std::string& path, std::span<const LoginSample> logins,
                            Duration occupancy) {
  if (path.empty() || logins.empty() || !make_folder(path)) return {};
  const std::string lock_path = path + ".lock";
  const io::UniqueFd lock{::open(lock_path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600)};
  if (lock.get() < 0) return is_usual(errno) ? "" : reason(lock_path);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return {};
  History history = read_history(path).history;
  history.add(logins, occupancy);
  return replace_file(path, history.text()) || is_usual(errno) ? "" : reason(path);
}

}  // namespace charmtree
