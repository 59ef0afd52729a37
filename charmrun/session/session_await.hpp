// SPDX-License-Identifier: Apache-2.0
// `charmrun ++in` finds its session, and waits for one that is just being started: `charmrun ++session &` has
// given the shell back before it can be found.
#pragma once

#include <functional>
#include <string>

#include "tree/base/result.hpp"
#include "tree/base/time.hpp"

namespace charmtree {

/// For a session that is starting; for one of which not even a process can be seen yet (a shell's `&`).
inline constexpr Duration kSessionStarts = 10s, kProcessStarts = 500ms;

/// The id of the session that `wanted` names (choose_session), once there is one. `say` is called once, if
/// that takes a moment. Errors as choose_session. Blocks.
Result<std::string> await_session(const std::string& wanted,
                                  const std::function<void(const std::string&)>& say);

}  // namespace charmtree
