// SPDX-License-Identifier: Apache-2.0
// What of the processes' stderr was shown so lately that it can still be seen: about the last screenful of
// output of all processes.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "tree/turn/ending.hpp"
#include "tree/turn/events.hpp"

namespace charmtree {

class ShownLately {
public:
  /// Lines of a usual terminal.
  static constexpr std::size_t kScreenful = 24;

  /// `is_seen`: output goes where the user looks, and not to a file or a tool.
  explicit ShownLately(bool is_seen = true) : is_seen_(is_seen) {}

  void show(const wire::Output& output);
  /// These are the last lines on stderr of the process (proto::lines_of_last_words), and can be seen.
  bool has(std::uint32_t process, const std::vector<std::string>& last_words) const;
  /// What the process whose end was the first cause wrote last, if it cannot be seen.
  void say_last_words(const proto::Ending& why, proto::Actions& out) const;

private:
  struct Piece {
    std::uint32_t process;
    std::string end;  // of what was written to stderr, as much as last words are
    std::size_t lines;
  };
  bool is_seen_;
  std::deque<Piece> pieces_;
  std::size_t lines_ = 0;  // of them all
};

}  // namespace charmtree
