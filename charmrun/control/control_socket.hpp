// SPDX-License-Identifier: Apache-2.0
// The control socket of a running job: an abstract unix-domain socket, which leaves no file behind, at which
// other processes of the same user find its charmrun. Both ends check the user of the other.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tree/base/error.hpp"
#include "tree/io/asio.hpp"
#include "tree/io/link/fd_link.hpp"
#include "tree/io/unique_fd.hpp"

namespace charmtree::control {

/// Returns the name of the socket, "@charmtree-control-UID-JOB". If another user has taken it, the socket has
/// a name that adds "-" and a random end (io::Listener::open_to_seekers).
std::string socket_name(const std::string& job);

/// A control socket of this user.
struct JobSocket {
  std::string job;   // its id
  std::string name;  // its abstract name
};
/// Finds the control sockets on this machine (in this network namespace). Other users may have made some of
/// the names; io::connect_to_own tells.
std::vector<JobSocket> job_sockets();

/// Returns true if the charmrun of that job is on this machine, though it may be suspended.
bool is_held_here(const std::string& job);

/// Returns a link over one connection; null if no descriptor is left for it.
std::shared_ptr<io::FdLink> link_over(io::asio::io_context& io, io::UniqueFd connection);

/// Returns the error of a job whose charmrun is not found, or is silent.
Error no_answer(const std::string& job);

}  // namespace charmtree::control
