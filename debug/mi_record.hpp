// SPDX-License-Identifier: Apache-2.0
// One line of what gdb says by its machine interface (gdb's manual, "GDB/MI Output Syntax"). Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace charmtree::debug {

struct MiRecord {
  enum class Kind : std::uint8_t {
    result,   // ^done, ^running, ^error: of the command with that token
    exec,     // *running, *stopped
    notify,   // =thread-created and the like
    console,  // text of gdb's own
    log,      // the same, of what went wrong
    other,
  };
  Kind kind = Kind::other;
  std::uint32_t token = 0;  // 0: none
  std::string_view name;    // what kind of record
  std::string_view fields;  // key=value, with commas
  std::string text;         // of console and log

  /// The text of this field, without its quotes; empty if it is missing, or no text.
  std::string field(std::string_view key) const;
};

/// Its views point into `line`.
MiRecord read_mi(std::string_view line);

}  // namespace charmtree::debug
