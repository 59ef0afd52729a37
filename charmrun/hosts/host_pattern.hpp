// SPDX-License-Identifier: Apache-2.0
// A host name, or many in one word: `node[01-16,20]`, `rack[1-2]n[1-40].example`. Numbers keep the zeros in
// front of the lower end of their range. A name that ssh would take for an option, or that holds anything but
// letters, digits, . - _ : % and non-ASCII bytes, is refused here, once for every later use.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace charmtree {

inline constexpr std::size_t kMaxHostName = 255;
inline constexpr std::size_t kMaxPatternBrackets = 8;
inline constexpr std::uint64_t kMaxPatternHosts = 1'000'000;

/// What is wrong with a text, and at which byte of it (from 0).
struct Mistake {
  std::size_t offset = 0;
  std::string message;
};

class HostPattern {
public:
  /// Reads `text` into `out`; a mistake if it is not a host name or pattern, or if it names more than
  /// kMaxPatternHosts.
  static std::optional<Mistake> parse(std::string_view text, HostPattern& out);

  /// How many hosts it names: 1 ... kMaxPatternHosts.
  std::uint64_t count() const { return count_; }

  /// Their names; the last bracket counts fastest.
  std::vector<std::string> expand() const;

private:
  struct Range {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    std::size_t width = 0;  // at least so many digits
  };
  // Literal text followed by one number of the ranges; no ranges: the text alone.
  struct Piece {
    std::string text;
    std::vector<Range> ranges;
  };

  static std::optional<Mistake> parse_bracket(std::string_view text, std::size_t& at, Piece& piece);
  void expand_from(std::size_t piece, std::string& prefix, std::vector<std::string>& out) const;

  std::vector<Piece> pieces_;
  std::uint64_t count_ = 1;
};

}  // namespace charmtree
