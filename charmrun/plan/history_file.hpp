// SPDX-License-Identifier: Apache-2.0
// Where the history of logins is kept: $XDG_STATE_HOME (else ~/.local/state)/charmtree/history.json, mode
// 0600. Nothing that goes wrong with it is an error: without it the usual constants are assumed.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "charmrun/plan/history.hpp"

namespace charmtree {

/// The file for these values of $XDG_STATE_HOME and $HOME; empty if neither is an absolute path.
std::string history_path(std::string_view state_home, std::string_view home);

struct HistoryRead {
  History history;   // empty if there is none, or none that can be used
  std::string note;  // for ++verbose: why it was ignored; empty for the usual cases
};
/// Never waits: what is not a plain file is ignored.
HistoryRead read_history(const std::string& path);

/// Adds one launch to the file. Folders are made as needed; whoever reads meanwhile sees the old file or the
/// new one. Another launch that is writing at this moment wins. The answer is a note as above.
std::string remember_logins(const std::string& path, std::span<const LoginSample> logins, Duration occupancy);

}  // namespace charmtree
