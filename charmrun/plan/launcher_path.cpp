// SPDX-License-Identifier: Apache-2.0
#include "charmrun/plan/launcher_path.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "charmrun/plan/program_file.hpp"
#include "tree/base/hexadecimal.hpp"
#include "tree/io/elf_file.hpp"
#include "tree/io/host/cpus.hpp"
#include "tree/io/ssh/ssh_libraries.hpp"
#include "tree/io/surroundings.hpp"

namespace charmtree {

std::string own_directory() {
  std::array<char, 4096> buffer{};
  // $PWD keeps the name by which the user knows the folder (automounters); it counts only if it is the same
  // folder.
  struct stat here {
  }, named{};
  const char* pwd = std::getenv("PWD");
  if (pwd != nullptr && pwd[0] == '/' && ::stat(".", &here) == 0 && ::stat(pwd, &named) == 0 &&
      here.st_dev == named.st_dev && here.st_ino == named.st_ino) {
    return pwd;
  }
  return ::getcwd(buffer.data(), buffer.size()) == nullptr ? "/" : buffer.data();
}

namespace {

/// Our own path as other hosts should use it: argv[0] through PATH, symlinks kept. There nobody needs the
/// link that is called mpiexec.
std::string own_path(const std::string& self, const std::string& directory, bool is_mpiexec) {
  if (!is_mpiexec) {
    if (self.find('/') != std::string::npos) return absolute(self, directory);
    if (const std::string found = io::find_program(self); !found.empty()) return absolute(found, directory);
  }
  std::array<char, 4096> buffer{};
  const ssize_t size = ::readlink("/proc/self/exe", buffer.data(), buffer.size() - 1);
  return size > 0 ? std::string{buffer.data(), static_cast<std::size_t>(size)} : self;
}

}  // namespace

std::string launcher_path(const Options& options, const std::string& self) {
  return options.launch.launcher.empty() ? own_path(self, own_directory(), options.is_mpiexec)
                                         : options.launch.launcher;
}

std::string build_text() {
  const auto file = io::ElfFile::open("/proc/self/exe");
  const std::string id = file ? hexadecimal(file->build_id()) : std::string{};
  return fmt::format("{}{}, hwloc {}\n", id.empty() ? "" : fmt::format("build {}\n", id), io::ssh_libraries(),
                     io::hwloc_version());
}

}  // namespace charmtree
