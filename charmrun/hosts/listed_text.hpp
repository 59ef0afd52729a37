// SPDX-License-Identifier: Apache-2.0
// Text that names hosts, line by line, and what is wrong with it, shown at its place. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "charmrun/hosts/host_pattern.hpp"
#include "tree/base/result.hpp"

namespace charmtree {

inline constexpr std::size_t kMaxNodelistBytes = std::size_t{64} << 20;
inline constexpr std::size_t kMaxNodelistLine = 65'536;

/// Calls `read` with each line, without CR-LF and a byte order mark, until one has a mistake. Error:
/// Errc::bad_input, Phase::nodelist, "FILE:LINE:COLUMN: what is wrong", the line itself and a caret below the
/// place.
Result<void> read_lines(std::string_view text, std::string_view file,
                        const std::function<std::optional<Mistake>(std::string_view line)>& read);

/// The line, cut if it is long, and a caret below the byte at `offset`; what a terminal might obey is '?'.
std::string show_line(std::string_view line, std::size_t offset);

}  // namespace charmtree
