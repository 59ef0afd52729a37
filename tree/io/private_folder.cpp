// SPDX-License-Identifier: Apache-2.0
#include "tree/io/private_folder.hpp"

#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

namespace charmtree::io {

bool is_private(const std::string& folder) {
  struct stat info {};
  return ::lstat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == ::geteuid() &&
         (info.st_mode & 077) == 0;
}

bool make_private(const std::string& folder) {
  const int failure = ::mkdir(folder.c_str(), 0700) == 0 ? 0 : errno;
  const bool is_one = is_private(folder);
  errno = failure;
  return is_one;
}

SharedPlace::SharedPlace(const std::string& place, const std::string& name)
    : place_(place), usual_(fmt::format("{}/{}-{}", place, name, ::geteuid())) {}

std::vector<std::string> SharedPlace::existing() const {
  std::vector<std::string> others, all;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator{place_, ignored}) {
    if (entry.path().string().starts_with(usual_ + "-") && is_private(entry.path()))
      others.push_back(entry.path());
  }
  std::sort(others.begin(), others.end());
  if (is_private(usual_)) all.push_back(usual_);
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

std::optional<std::string> SharedPlace::find(
    const std::function<bool(const std::string& folder)>& use) const {
  make_private(usual_);
  for (const std::string& folder : existing()) {
    if (use(folder)) return folder;
  }
  std::string made = usual_ + "-XXXXXX";
  if (::mkdtemp(made.data()) == nullptr) return {};
  if (use(made)) return made;
  const int error = errno;
  ::rmdir(made.c_str());
  errno = error;
  return {};
}

}  // namespace charmtree::io
