// SPDX-License-Identifier: Apache-2.0
// Room for one read. `static thread_local` where it is used: on the heap, because what is thread-local takes
// room on the stack of each thread, and some have small ones; made by the first read, and filled by nothing
// else, because every page that is touched costs every launcher.
#pragma once

#include <cstddef>
#include <memory>

namespace charmtree::io {

template <std::size_t kBytes>
class ReadBuffer {
public:
  char* data() { return bytes_.get(); }
  static constexpr std::size_t size() { return kBytes; }

private:
  std::unique_ptr<char[]> bytes_ = std::make_unique_for_overwrite<char[]>(kBytes);
};

}  // namespace charmtree::io
