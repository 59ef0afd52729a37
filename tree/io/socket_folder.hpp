// SPDX-License-Identifier: Apache-2.0
// The folder of a launcher's socket for the native processes of its host: one that only this user can read
// and write.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tree/base/result.hpp"

namespace charmtree::io {

struct SocketFolder {
  std::string path;
  std::string remark;  // why a better one is not used, for ++verbose; empty: it is the best
};
/// Opens what belongs in the folder. Error: the folder does not take it, and why.
using UseSocketFolder = std::function<Result<void>(const std::string& folder)>;

/// Finds or makes a private folder for a user's sockets, the first that `use` accepts:
/// $XDG_RUNTIME_DIR/charmtree, or in `shared`, which all users share, charmtree-<uid>, or one with a random
/// end. Error: why none will do.
Result<SocketFolder> socket_folder(const UseSocketFolder& use, const std::string& shared = "/tmp");

/// Returns all that any launcher of ours here may have got from socket_folder().
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
