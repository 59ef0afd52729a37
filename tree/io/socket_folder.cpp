// SPDX-License-Identifier: Apache-2.0
#include "tree/io/socket_folder.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>

#include "tree/io/private_folder.hpp"

namespace charmtree::io {

namespace {

/// Those that do not depend on chance, best first.
std::vector<std::string> usual_folders(const std::string& shared) {
  std::vector<std::string> folders;
  const char* runtime = ::secure_getenv("XDG_RUNTIME_DIR");
  struct stat info {};
  if (runtime != nullptr && runtime[0] == '/' && ::stat(runtime, &info) == 0 && info.st_uid == ::geteuid())
    folders.push_back(std::string{runtime} + "/charmtree");
  folders.push_back(fmt::format("{}/charmtree-{}", shared, ::geteuid()));
  return folders;
}

/// Those with a random end that are ours.
std::vector<std::string> other_folders(const std::string& shared) {
  const std::string head = fmt::format("charmtree-{}-", ::geteuid());
  std::vector<std::string> folders;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator{shared, ignored}) {
    if (entry.path().filename().string().starts_with(head) && is_private(entry.path()))
      folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

}  // namespace

Result<std::string> socket_folder(const std::string& shared) {
  const std::vector<std::string> usual = usual_folders(shared);
  for (const std::string& folder : usual) {
    if (make_private(folder)) return folder;
  }
  if (const auto others = other_folders(shared); !others.empty()) return others.front();
  std::string made = usual.back() + "-XXXXXX";
  if (::mkdtemp(made.data()) != nullptr) return made;
  return Error{Errc::spawn_failed, Phase::spawn, fmt::format("{}: {}", usual.back(), strerror(errno)),
               fmt::format("is {} writable there?", shared)};
}

std::vector<std::string> socket_folders(const std::string& shared) {
  std::vector<std::string> folders = usual_folders(shared);
  std::erase_if(folders, [](const std::string& folder) { return !is_private(folder); });
  std::ranges::move(other_folders(shared), std::back_inserter(folders));
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
