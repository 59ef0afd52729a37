// SPDX-License-Identifier: Apache-2.0
// What ++help and ++version print, made from the option table. Text only; somebody else prints it.
#pragma once

#include <string>

namespace charmtree {

/// The whole help, for a terminal of 80 columns, ending in a newline.
std::string help_text();

/// "charmrun (charmtree) 1.2.3", ending in a newline.
std::string version_text();

}  // namespace charmtree
