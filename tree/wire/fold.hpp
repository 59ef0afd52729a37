// SPDX-License-Identifier: Apache-2.0
// Host names folded for people: h01, h02, h03, h07 -> "h[01-03,07]".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace charmtree::wire {

/// Names with the same text around one number are folded; the order of first mention is kept, numbers are
/// sorted. Names that are cut off after `limit` parts are counted: "a, b and 12 more".
std::string fold_names(const std::vector<std::string>& names, std::size_t limit = 16);

/// "3", "0-3,7".
std::string fold_ranges(std::vector<std::uint32_t> numbers);

/// "process 3", "processes 0-3,7".
std::string fold_numbers(std::vector<std::uint32_t> numbers);

}  // namespace charmtree::wire
