// SPDX-License-Identifier: Apache-2.0
// What ++help and ++version print, made from the option table. Text only; somebody else prints it.
#pragma once

#include <string>
#include <string_view>

#include "charmrun/cli/option_table.hpp"

namespace charmtree {

/// The whole help, for a terminal of 80 columns, ending in a newline.
std::string help_text();
/// What stands in it before and behind the options.
std::string_view help_introduction();
std::string_view help_closing();
/// What it says of one, with its default.
std::string help_of(const OptionRow& row);

/// "charmrun (charmtree) 1.2.3", and in a second line what launchers must have in common.
std::string version_text();

}  // namespace charmtree
