// SPDX-License-Identifier: Apache-2.0
// One line of a nodelist: its words, and the options written on it. Part of nodelist.cpp, apart for its own
// size; see nodelist.hpp for the grammar.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "charmrun/hosts/host_pattern.hpp"
#include "charmrun/hosts/nodelist.hpp"

namespace charmtree {

struct LineWord {
  std::string_view text;   // without quotes
  std::size_t offset = 0;  // of its first byte, the quote if there is one
  bool quoted = false;
};

/// Takes a line apart, word by word. The line must outlive it.
class LineReader {
public:
  explicit LineReader(std::string_view line) : line_(line) {}

  enum class Found { word, end, mistake };

  /// The next word into `word`; `end` at the end of the line or a comment.
  Found next(LineWord& word, Mistake& mistake);

  /// The value of `setup`: the rest of the line, or one quoted word if only a comment or further options
  /// follow it.
  Found rest(LineWord& word, Mistake& mistake);

private:
  void skip_blanks();
  Found quoted(LineWord& word, Mistake& mistake);

  std::string_view line_;
  std::size_t at_ = 0;
};

enum class NodelistKey { login, shell, setup, pathfix, env, ext, nice, cpus, slots, port, unused };

/// One option as written, checked. Kept apart from HostOptions, since a later mention of a host changes only
/// what it names.
struct NodelistSetting {
  NodelistKey key = NodelistKey::unused;
  bool reset = false;              // the value was *
  std::string text;                // login, setup, env, ext; pathfix: from
  std::string to;                  // pathfix
  std::vector<std::string> words;  // shell
  int number = 0;                  // nice, cpus, slots, port
};

/// The options on the rest of the line. `first` is the word to begin with, if the caller has already read it.
std::optional<Mistake> read_settings(LineReader& line, const LineWord* first,
                                     std::vector<NodelistSetting>& out);

/// Sets `options` as `settings` say; a mistake (at offset 0) if there are too many pathfix rules or
/// variables.
std::optional<Mistake> apply_settings(const std::vector<NodelistSetting>& settings, HostOptions& options);

}  // namespace charmtree
