// SPDX-License-Identifier: Apache-2.0
// What this process finds around it: the name of its host, its environment, programs in PATH, whole files,
// pipes.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tree/base/result.hpp"
#include "tree/io/unique_fd.hpp"

namespace charmtree::io {

/// As gethostname gives it; empty if it cannot.
std::string own_host_name();

/// The value of this variable, if it is set.
std::optional<std::string> own_variable(const std::string& name);

/// The environment as it is now, "NAME=value".
std::vector<std::string> own_environment();

/// The words of SSH_CONNECTION, by which sshd says whom it serves: the client's address and port, then its
/// own; empty where there is none.
std::array<std::string, 4> ssh_connection_words();

/// The files that execvp would try for `program`, in order: itself if it has a slash, else one for each
/// folder of `path` (PATH's value; empty: the usual folders).
std::vector<std::string> program_candidates(const std::string& program, std::string_view path);

/// The first of them, with our own PATH, that is a file which we may execute; empty if there is none.
std::string find_program(const std::string& program);

/// All bytes of a file (a device or pipe until its end). Error bad_input (phase options) if it cannot be
/// read, is a directory, or has more than `limit` bytes.
Result<std::string> read_file(const std::string& path, std::size_t limit);
/// The same from an open descriptor, from where it stands; `path` is for the error's text.
Result<std::string> read_file(const UniqueFd& file, const std::string& path, std::size_t limit);

/// From the kernel, fit for secrets.
std::string random_bytes(std::size_t size);

struct Pipe {
  UniqueFd read_end, write_end;
};
/// Both ends block and are closed on exec; nothing if there are no descriptors left (errno says why).
std::optional<Pipe> open_pipe();

struct SocketPair {
  UniqueFd ours, theirs;
};
/// Connected streams; both are closed on exec. Nothing as above.
std::optional<SocketPair> socket_pair();

/// Lets reads and writes on `fd` and all of its duplicates return at once.
void set_non_blocking(int fd);

}  // namespace charmtree::io
