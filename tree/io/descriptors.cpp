// SPDX-License-Identifier: Apache-2.0
#include "tree/io/descriptors.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <filesystem>
#include <string>
#include <vector>

namespace charmtree::io {

namespace {

bool close_range(int first, unsigned flags) {
  constexpr long kCloseRange = 436;  // of all machines
  return ::syscall(kCloseRange, first, UINT_MAX, flags) == 0;
}

/// One of them is that of the folder that is read, and closed by then.
std::vector<int> open_from(int first) {
  std::vector<int> open;
  std::error_code failed;
  for (const auto& each : std::filesystem::directory_iterator{"/proc/self/fd", failed}) {
    const int fd = std::stoi(each.path().filename().string());
    if (fd >= first) open.push_back(fd);
  }
  return open;
}

}  // namespace

void close_from(int first) {
  if (close_range(first, 0)) return;
  for (const int fd : open_from(first)) ::close(fd);
}

void keep_from_programs(int first) {
  if (close_range(first, CLOSE_RANGE_CLOEXEC)) return;
  for (const int fd : open_from(first)) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
}

}  // namespace charmtree::io
