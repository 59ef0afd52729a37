// SPDX-License-Identifier: Apache-2.0
// What of the processes' stderr was shown so lately that it can still be seen: about the last screenful of
// output of all processes.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "tree/wire/messages.hpp"

namespace charmtree {

class ShownLately {
public:
  /// Lines of a usual terminal.
  static constexpr std::size_t kScreenful = 24;

  void show(const wire::Output& output);
  /// These are the last lines on stderr of the process (proto::lines_of_last_words), and can be seen.
  bool has(std::uint32_t process, const std::vector<std::string>& last_words) const;

private:
  struct Piece {
    std::uint32_t process;
    std::string end;  // of what was written to stderr, as much as last words are
    std::size_t lines;
  };
  std::deque<Piece> pieces_;
  std::size_t lines_ = 0;  // of them all
};

}  // namespace charmtree
