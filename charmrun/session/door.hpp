// SPDX-License-Identifier: Apache-2.0
// The doors of a root: abstract unix-domain sockets, which leave no file behind, at which others of the same
// user find it, one for each kind of thing that they may want. Both ends check whose the other is.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "tree/base/result.hpp"
#include "tree/io/asio.hpp"
#include "tree/io/link/fd_link.hpp"
#include "tree/io/listener.hpp"
#include "tree/io/unique_fd.hpp"

namespace charmtree {

inline constexpr std::string_view kDebugDoor = "debug", kOrdersDoor = "orders", kSessionDoor = "session",
                                  kStacksDoor = "stacks", kToolsDoor = "tools", kViewDoor = "view";

/// The name of such a door of this user's job, or how it begins (io::Listener::open_to_seekers).
std::string door_name(std::string_view kind, const std::string& job);

/// Whoever comes is handed over from now on. Error spawn_failed.
Result<void> open_door(io::Listener& listener, std::string_view kind, const std::string& job);

/// A connection that blocks. Error refused: no_answer().
Result<io::UniqueFd> enter_door(std::string_view kind, const std::string& job);

/// Both ways over one connection; null: no descriptor is left for that.
std::shared_ptr<io::FdLink> link_over(io::asio::io_context& io, io::UniqueFd connection);
/// That of who has come in; null: another user has, and the connection is closed.
std::shared_ptr<io::FdLink> let_in(io::asio::io_context& io, io::UniqueFd connection);

/// For who has found no such root, or one that says nothing.
Error no_answer(const std::string& job);
/// For who has found a root that speaks another version's words.
Error other_version();

}  // namespace charmtree
