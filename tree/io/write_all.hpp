// SPDX-License-Identifier: Apache-2.0
// A blocking write of everything.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <string_view>

namespace charmtree::io {

/// False: errno says why not.
inline bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t size = ::write(fd, bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(size));
  }
  return true;
}

}  // namespace charmtree::io
