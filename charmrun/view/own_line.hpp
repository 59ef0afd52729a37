// SPDX-License-Identifier: Apache-2.0
// What charmrun says of itself on stderr: lines that begin with its name, whatever the text is and whoever it
// comes from.
#pragma once

#include <string>
#include <string_view>

#include "tree/base/error.hpp"
#include "tree/turn/events.hpp"

namespace charmtree {

/// "charmrun: text" or "charmrun: error: text", one line with its newline; the text is made visible().
std::string own_line(proto::Tone tone, std::string_view text);

/// As own_line(). An error in a nodelist shows the place in further lines, which are indented.
std::string error_lines(const Error& error);

}  // namespace charmtree
