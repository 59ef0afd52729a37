// SPDX-License-Identifier: Apache-2.0
#include "tree/io/private_folder.hpp"

#include <sys/stat.h>
#include <unistd.h>

namespace charmtree::io {

bool is_private(const std::string& folder) {
  struct stat info {};
  return ::lstat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == ::geteuid() &&
         (info.st_mode & 077) == 0;
}

bool make_private(const std::string& folder) {
  ::mkdir(folder.c_str(), 0700);
  return is_private(folder);
}

}  // namespace charmtree::io
