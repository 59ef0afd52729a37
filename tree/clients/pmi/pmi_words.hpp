// SPDX-License-Identifier: Apache-2.0
// A request of PMI: words `key=value`, the first of which is `cmd` (or `mcmd`, of several lines). Version 1
// has blanks between them, and escapes nothing: a value ends at the first blank. Version 2 ends each with a
// ';', which is doubled where it belongs to a value. What is kept, or sent to clients of the other version,
// is the text itself (`text`, `in_version_two`).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace charmtree::proto {

enum class PmiVersion : std::uint8_t { one, two };

class PmiWords {
public:
  /// `text`, of one request and without its newline or length, must outlive the object.
  PmiWords(PmiVersion version, std::string_view text);

  /// The value of `cmd` or `mcmd`; empty: it is no request.
  std::string_view command() const { return command_; }
  /// Of the first word with that key; empty: there is none.
  std::string_view value(std::string_view key) const;
  /// Returns what the value stands for: of version 2 without its doubled ';'.
  std::string text(std::string_view key) const;
  /// The same, as a number; `otherwise`: there is none, or it is not one.
  int number(std::string_view key, int otherwise) const;
  /// From the value of that key to the end of the request (version 1: a text with blanks).
  std::string_view rest(std::string_view key) const;
  /// All, in their order.
  const std::vector<std::pair<std::string_view, std::string_view>>& all() const { return words_; }

private:
  PmiVersion version_;
  std::string_view text_, command_;
  std::vector<std::pair<std::string_view, std::string_view>> words_;
};

/// Returns the value of version 2 that stands for this text, and back.
std::string in_version_two(std::string_view text);
std::string from_version_two(std::string_view value);
/// Returns the text as a value that both versions have.
std::string one_word(std::string_view text);
/// False: version 1 has no value that stands for the text, because it would end before the text's end.
bool fits_version_one(std::string_view text);

/// Where the first request in `bytes` is: a line, or, in version 2, six characters of length and so many
/// bytes.
struct PmiExtent {
  std::size_t begin = 0, size = 0;
  std::size_t end = 0;   // where the next one begins; 0: it is not all there yet
  bool is_sound = true;  // what should be its length is one
};
PmiExtent first_request(PmiVersion version, std::string_view bytes);

}  // namespace charmtree::proto
