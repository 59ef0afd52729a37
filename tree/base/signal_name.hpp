// SPDX-License-Identifier: Apache-2.0
// Signals as people know them.
#pragma once

#include <string_view>

namespace charmtree {

/// Without "SIG", as on Linux for x86 and ARM: "KILL"; empty: none, or one for programs' own use.
std::string_view signal_name(int signal);

}  // namespace charmtree
