// SPDX-License-Identifier: Apache-2.0
// A set of process numbers, kept as ranges.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace charmtree::wire {

class ProcessSet {
public:
  struct Range {
    std::uint32_t first, last;  // both are in
    friend auto operator<=>(const Range&, const Range&) = default;
  };
  ProcessSet() = default;
  explicit ProcessSet(const std::vector<Range>& ranges) { add_all(ranges); }

  void add(std::uint32_t process) { add({process, process}); }
  /// Those of them that are in already stay in.
  void add(Range range);
  void add_all(const std::vector<Range>& ranges) {
    for (const Range& range : ranges) add(range);
  }
  bool contains(std::uint32_t process) const;
  /// The parts of the range that are not in.
  std::vector<Range> missing(Range range) const;
  bool empty() const { return size_ == 0; }
  /// Its lowest number; the set must not be empty.
  std::uint32_t lowest() const { return ranges_.front().first; }
  std::size_t size() const { return size_; }
  const std::vector<Range>& ranges() const { return ranges_; }
  /// "0-3,7".
  std::string print() const;

private:
  std::vector<Range> ranges_;  // rise, with gaps between them
  std::size_t size_ = 0;
};

/// How many numbers are in them; none may be in two.
std::uint64_t size_of(const std::vector<ProcessSet::Range>& ranges);

/// The first number of the ranges that is in the set, too.
std::optional<std::uint32_t> first_common(const std::vector<ProcessSet::Range>& ranges,
                                          const ProcessSet& set);

/// Puts them in order and joins those that meet; no number may be in two.
void fold(std::vector<ProcessSet::Range>& ranges);

}  // namespace charmtree::wire
