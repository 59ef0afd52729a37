// SPDX-License-Identifier: Apache-2.0
// Where a launcher's socket for the native processes of its host is: a folder that nobody else can write to.
// Where such folders belong anybody may make some; whose name is taken has another one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tree/base/result.hpp"

namespace charmtree::io {

/// A private folder for a user's sockets (0700, ours, no symlink), made if missing:
/// $XDG_RUNTIME_DIR/charmtree, or in `shared`, which all users share, charmtree-<uid>, or, if somebody else
/// has that name, one with a random end. Error: why there is none.
Result<std::string> socket_folder(const std::string& shared = "/tmp");

/// All that any launcher of ours here may have got from socket_folder().
std::vector<std::string> socket_folders(const std::string& shared = "/tmp");

/// The socket of a job on a host: <folder>/<job>.<host>.
std::string socket_path(const std::string& folder, const std::string& job, std::uint32_t host);

/// Where what a helper of that launcher keeps in files is: a folder beside its socket.
std::string helper_folder(const std::string& socket);

/// What that launcher tells its processes of the host's topology: a file beside its socket.
std::string topology_file(const std::string& socket);

/// Both of these, as far as they are there.
void remove_beside(const std::string& socket);

}  // namespace charmtree::io
