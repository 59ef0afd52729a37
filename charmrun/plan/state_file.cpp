// SPDX-License-Identifier: Apache-2.0
#include "charmrun/plan/state_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "tree/io/unique_fd.hpp"
#include "tree/io/write_all.hpp"

namespace charmtree {

namespace {

bool make_folder(const std::string& path, int above) {
  const std::string folder = path.substr(0, path.rfind('/'));
  struct stat info {};
  if (::stat(folder.c_str(), &info) == 0) return info.st_uid == ::geteuid();
  const bool parent = folder.rfind('/') != 0 && above >= 0 && make_folder(folder, above - 1);
  return parent && ::mkdir(folder.c_str(), 0700) == 0;
}

}  // namespace

std::string state_folder(std::string_view state_home, std::string_view home) {
  if (state_home.starts_with('/')) return fmt::format("{}/charmtree", state_home);
  if (home.starts_with('/')) return fmt::format("{}/.local/state/charmtree", home);
  return {};
}

bool make_folder(const std::string& path) {
  return make_folder(path, 2);
}

bool replace_file(const std::string& path, std::string_view text) {
  const std::string temporary = fmt::format("{}.{}", path, ::getpid());
  ::unlink(temporary.c_str());  // of a process that had our number and was killed
  bool written = false;
  {
    const io::UniqueFd file{
        ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)};
    written = file.get() >= 0 && ::fchmod(file.get(), 0600) == 0 && io::write_all(file.get(), text);
  }
  if (written && ::rename(temporary.c_str(), path.c_str()) == 0) return true;
  const int error = errno;
  ::unlink(temporary.c_str());
  errno = error;
  return false;
}

}  // namespace charmtree
