// SPDX-License-Identifier: Apache-2.0
#include "tree/io/socket_folder.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "tree/io/private_folder.hpp"

namespace charmtree::io {

namespace {

constexpr const char* kFolder = "charmtree";

/// The folder of the user's session, if it has one; empty: it has none.
std::string runtime_folder() {
  const char* const runtime = ::secure_getenv("XDG_RUNTIME_DIR");
  struct stat info {};
  const bool is_ours =
      runtime != nullptr && runtime[0] == '/' && ::stat(runtime, &info) == 0 && info.st_uid == ::geteuid();
  return is_ours ? fmt::format("{}/{}", runtime, kFolder) : std::string{};
}

}  // namespace

Result<SocketFolder> socket_folder(const UseSocketFolder& use, const std::string& shared) {
  const std::string runtime = runtime_folder();
  const SharedPlace place{shared, kFolder};
  std::string passed_over, why;
  const auto takes = [&](const std::string& folder) {
    const auto used = use(folder);
    if (!used) why = used.error().what;
    return static_cast<bool>(used);
  };
  if (!runtime.empty()) {
    errno = 0;
    if (!make_private(runtime))
      why = fmt::format("{}: {}", runtime, errno == EEXIST ? "not a private folder" : strerror(errno));
    else if (takes(runtime))
      return SocketFolder{runtime, {}};
    passed_over = fmt::format("XDG_RUNTIME_DIR does not take the sockets of processes ({})", why);
    why.clear();
  }
  errno = 0;
  if (const auto found = place.find(takes))
    return SocketFolder{*found,
                        passed_over.empty() ? "" : fmt::format("{}; they are in {}", passed_over, *found)};
  if (why.empty()) why = fmt::format("{}: {}", place.usual(), strerror(errno));
  if (!passed_over.empty()) why += "; " + passed_over;
  return Error{Errc::spawn_failed, Phase::spawn, why, fmt::format("is {} writable there?", shared)};
}

std::vector<std::string> socket_folders(const std::string& shared) {
  std::vector<std::string> folders = SharedPlace{shared, kFolder}.existing();
  if (const std::string runtime = runtime_folder(); !runtime.empty() && is_private(runtime))
    folders.insert(folders.begin(), runtime);
  return folders;
}

std::string socket_path(const std::string& folder, const std::string& job, std::uint32_t host) {
  return fmt::format("{}/{}.{}", folder, job, host);
}

std::string helper_folder(const std::string& socket) {
  return socket + ".pmix";
}

std::string topology_file(const std::string& socket) {
  return socket + ".xml";
}

void remove_beside(const std::string& socket) {
  std::error_code ignored;
  std::filesystem::remove_all(helper_folder(socket), ignored);
  std::filesystem::remove(topology_file(socket), ignored);
}

}  // namespace charmtree::io
