// SPDX-License-Identifier: Apache-2.0
// Files that outlive a launch, in the user's folder for such: $XDG_STATE_HOME (else
// ~/.local/state)/charmtree.
#pragma once

#include <string>
#include <string_view>

namespace charmtree {

/// The folder for these values of $XDG_STATE_HOME and $HOME; empty if neither is an absolute path.
std::string state_folder(std::string_view state_home, std::string_view home);

/// The folder of `path` exists or is made, with two above it at most: a home is never made. False if it is
/// not ours, as when another user's home was kept by sudo.
bool make_folder(const std::string& path);

/// A temporary file of mode 0600 takes the place of `path`: whoever reads meanwhile sees the old one or the
/// new one. False with errno if that failed; nothing is left then.
bool replace_file(const std::string& path, std::string_view text);

}  // namespace charmtree
