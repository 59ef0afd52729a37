// SPDX-License-Identifier: Apache-2.0
// What is made from the option table for other programs: the manual page, and completions for shells. Text
// only.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace charmtree {

/// "man": charmrun(1), for roff; "bash", "zsh", "fish": what completes charmrun's command line there.
/// Nothing: it is none of these.
std::optional<std::string> page_for(std::string_view what);

}  // namespace charmtree
