// SPDX-License-Identifier: Apache-2.0
// The last that a process wrote on its stderr, for the report of how it ended.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace charmtree::proto {

class LastWords {
public:
  /// So much is kept of a process, and told.
  static constexpr std::size_t kMaxBytes = 1024, kMaxLines = 8;

  void append(std::string_view bytes);
  void clear() { bytes_.clear(); }
  /// The last bytes as they were written.
  const std::string& bytes() const { return bytes_; }

private:
  std::string bytes_;
};

/// The last lines of such bytes, oldest first, without empty ones at the end. What a terminal might obey is
/// left out; so is a line of which only the end was kept, unless it is the only one.
std::vector<std::string> lines_of_last_words(std::string_view bytes);

}  // namespace charmtree::proto
