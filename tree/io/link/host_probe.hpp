// SPDX-License-Identifier: Apache-2.0
// Whether the machine at the other end of a silent connection lives: how long ago it last acknowledged
// something, and whether it answers one new connection (that it refuses it is an answer, too).
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "tree/base/time.hpp"
#include "tree/io/asio.hpp"
#include "tree/io/sock_diag.hpp"
#include "tree/turn/events.hpp"

namespace charmtree::io {

/// The connection over which an sshd started us (SSH_CONNECTION), as seen from here; nothing: it was none, or
/// there is no such connection on this machine.
std::optional<TcpEnds> ssh_connection();
/// The same of another process on this host: what it has in SSH_CONNECTION.
std::optional<TcpEnds> ssh_connection(const std::string& words);

struct HostProbeLimits {
  /// Bytes that have come and are not read: a sign of life, but where they are not read on purpose.
  enum class Unread : bool { counts, ignored };
  Duration within;  // of the connection
  Duration fresh;   // who acknowledged something since then is not connected to
  Unread unread = Unread::counts;
};

/// Looks into the connection between `ends` and, unless that shows that the machine lives, makes one more to
/// the same port. Evidence::heard is 0 if something that came has not been read (and counts), else `heard`.
/// `done` is called once, from here or from the event loop, unless the returned handle has been dropped.
std::shared_ptr<void> probe_host(asio::io_context& io, const TcpEnds& ends, const HostProbeLimits& limits,
                                 Duration heard, std::function<void(proto::Evidence)> done);

}  // namespace charmtree::io
