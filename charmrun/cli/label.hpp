// SPDX-License-Identifier: Apache-2.0
// A text in which %r, %h, %t and %s stand for a process's number, its host, the time and the stream: what is
// written before each line of the program's output, or the name of a process's file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tree/base/result.hpp"
#include "tree/clients/client_server.hpp"

namespace charmtree {

/// What a label says of a line.
struct LabelFacts {
  std::string_view processes;  // their numbers: "3", "0-7,9"
  std::string_view hosts;
  std::int64_t wall_ms = 0;  // when the line was read, in milliseconds since 1970
  proto::Stream stream = proto::Stream::out;
};

class Label {
public:
  /// No label: for lines as they are.
  Label() = default;
  /// Which option's value it is, and what may stand behind a % there besides another one.
  struct Use {
    std::string_view option = "label-format";
    std::string_view codes = "rhts";
  };
  /// %% is a percent sign. Error bad_input, Phase::options: something else stands behind a %, or a newline
  /// is in it.
  static Result<Label> parse(std::string_view text, Use use);
  static Result<Label> parse(std::string_view text) { return parse(text, Use{}); }

  bool empty() const { return parts_.empty(); }
  /// It says whose line it is.
  bool names_processes() const { return has('r'); }
  bool names_hosts() const { return has('h'); }
  std::string print(const LabelFacts& facts) const;

private:
  struct Part {
    char code;  // 0: `text`
    std::string text;
  };
  bool has(char code) const;

  std::vector<Part> parts_;
};

/// What it is called; a terminal is both streams, and is called stdout.
std::string_view name_of(proto::Stream stream);

/// Local time with its date: 2026-01-31T23:59:59.123.
std::string print_time(std::int64_t wall_ms);

}  // namespace charmtree
