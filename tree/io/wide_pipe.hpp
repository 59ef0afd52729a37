// SPDX-License-Identifier: Apache-2.0
// Pipes that hold more than usual, where the writer is quicker than we who read: it waits less often. A user
// whose pipes hold more than 64 MiB together gets only small ones (pipe(7)), so only some of this process are
// widened.
#pragma once

#include <fcntl.h>

#include <atomic>
#include <cstddef>

namespace charmtree::io {

/// A usual pipe (64 KiB) from which so much comes at once is about to hold up its writer.
inline constexpr std::size_t kBusyPipe = 32U << 10;

/// Whether one pipe has been widened.
class WidePipe {
public:
  static constexpr int kBytes = 256 << 10, kMost = 32;

  WidePipe() = default;
  WidePipe(const WidePipe&) = delete;
  WidePipe& operator=(const WidePipe&) = delete;
  ~WidePipe() { count_ -= widened_ ? 1 : 0; }

  /// `fd` is one of its ends. What is no pipe, or may not be widened, stays as it is.
  void widen(int fd) {
    if (asked_ || count_ >= kMost) return;
    asked_ = true;
    widened_ = ::fcntl(fd, F_SETPIPE_SZ, kBytes) >= 0;
    count_ += widened_ ? 1 : 0;
  }

private:
  static inline std::atomic<int> count_ = 0;
  bool asked_ = false, widened_ = false;
};

}  // namespace charmtree::io
