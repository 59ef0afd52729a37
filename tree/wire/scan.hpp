// SPDX-License-Identifier: Apache-2.0
// How much of a text a scanf with a given format would read. The launcher answers a program's scanf with
// exactly the characters that it consumes, and keeps the rest for the next one. The format comes from the
// program and is used only after a strict check: nothing is ever stored through it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace charmtree::wire {

inline constexpr std::size_t kMaxScanFormat = 1024;  // characters
inline constexpr int kMaxScanConversions = 18;       // stored ones, as in Charm++

struct Scan {
  bool complete = false;     // false: more input is needed before the scanf can be answered
  std::size_t consumed = 0;  // characters of the input to answer with, and to remove from it
};

/// `input` is all that is unread, `eof` that no more will come.
/// Complete if the format matches and an unread character is left behind the match (what follows could belong
/// to a number or to blanks otherwise), or at eof. If the input can never match, the line where it fails is
/// consumed, so that the scanf returns the count that it would have returned on a terminal and the next one
/// starts on a fresh line. A format that is not understood, or longer than the limits, consumes one line.
/// Costs a small multiple of what is consumed, however long the input is.
Scan scan_prefix(std::string_view format, std::string_view input, bool eof);

/// True if blanks before the input change nothing: the format begins with blanks or with a conversion that
/// skips them, and none of its conversions counts characters.
bool skips_leading_blanks(std::string_view format);

}  // namespace charmtree::wire
