// SPDX-License-Identifier: Apache-2.0
// What the debuggers of many processes say: those that say the same are together, and so are, if there are
// many of them, those that say the same but for numbers. The sum stays as small as DebugAnswers may be.
// Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "debug/messages.hpp"

namespace charmtree::debug {

class AnswerSet {
public:
  using Kind = DebugAnswer::Kind;
  using Ranges = std::vector<wire::ProcessSet::Range>;
  /// So many answers that differ in numbers alone are shown one by one.
  static constexpr std::size_t kFew = 4;

  /// True: those that differ in numbers alone stay apart, however many.
  void keep_apart(bool apart) { apart_ = apart; }
  /// Of one process. Of a longer text than kMostDebugText the rest is left out.
  void add(Kind kind, std::string_view text, std::uint32_t process);
  /// The same of all these.
  void add(Kind kind, std::string_view text, const Ranges& processes);
  /// Of other processes, or later; sound.
  void add(const DebugAnswers& more);
  bool empty() const { return alike_.empty() && left_out_ == 0; }
  /// Those of the lowest processes first; of one process in the order in which they came.
  DebugAnswers take();

private:
  using Numbers = std::vector<std::string>;
  /// Same kind and same text but for numbers.
  struct Alike {
    std::uint64_t since = 0;                     // the first of them came as the so-manieth
    std::map<Numbers, wire::ProcessGroup> each;  // by what their numbers are; empty: there are too many
    std::vector<NumberSpan> spans;               // then
    wire::ProcessGroup all;
  };
  void put(Kind kind, const std::string& form, Numbers numbers, std::uint32_t processes, const Ranges& which);
  void put_spans(Kind kind, const std::string& form, const std::vector<NumberSpan>& spans,
                 std::uint32_t processes, const Ranges& which);
  Alike& place_of(Kind kind, const std::string& form);

  bool apart_ = false;
  std::uint64_t came_ = 0;
  std::uint32_t left_out_ = 0;
  std::map<std::pair<Kind, std::string>, Alike> alike_;  // by text, with holes for the numbers
};

/// The text of an answer with its spans: "{2..17}".
std::string shown(const DebugAnswer& answer);

}  // namespace charmtree::debug
