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

/// That error, of the line of this number, from 1. A long line is cut, and what a terminal might obey is '?'.
Error error_at(std::string_view file, std::size_t number, std::string_view line, const Mistake& mistake);

/// The first control character in the text that is no tab, at its offset there.
std::optional<Mistake> find_control(std::string_view text);

/// The text behind its byte order mark, if it has one.
std::string_view without_mark(std::string_view text);

}  // namespace charmtree
