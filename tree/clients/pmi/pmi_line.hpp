// SPDX-License-Identifier: Apache-2.0
// A request or answer of PMI-1: one line of words `key=value` with blanks between them, the first of which is
// `cmd` (or `mcmd`, of several lines). Nothing is escaped: a value ends at the first blank, and is passed on
// as it came.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace charmtree::proto {

class PmiLine {
public:
  /// `text`, without its newline, must outlive the object.
  explicit PmiLine(std::string_view text);

  /// The value of `cmd` or `mcmd`; empty: it is no request.
  std::string_view command() const { return command_; }
  /// Of the first word with that key; empty: there is none.
  std::string_view value(std::string_view key) const;
  /// The same, as a number; `otherwise`: there is none, or it is not one.
  int number(std::string_view key, int otherwise) const;
  /// From the value of that key to the end of the line.
  std::string_view rest(std::string_view key) const;

private:
  std::string_view text_, command_;
  std::vector<std::pair<std::string_view, std::string_view>> words_;
};

}  // namespace charmtree::proto
