// SPDX-License-Identifier: Apache-2.0
#include "charmrun/plan/history_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "charmrun/plan/state_file.hpp"
#include "tree/io/unique_fd.hpp"
#include "tree/io/write_error.hpp"

namespace charmtree {
namespace {

std::string reason(const std::string& path) {
  return fmt::format("{}: {}", path, io::write_error(errno));
}

/// Homes that cannot be written are none of the user's worries.
bool is_usual(int error) {
  return error == ENOENT || error == EACCES || error == EPERM || error == EROFS || error == ENOTDIR;
}

}  // namespace

std::string history_path(std::string_view state_home, std::string_view home) {
  const std::string folder = state_folder(state_home, home);
  return folder.empty() ? folder : folder + "/history.json";
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
