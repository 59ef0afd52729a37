// SPDX-License-Identifier: Apache-2.0
#include "tree/io/executable.hpp"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>

#include "tree/io/elf_file.hpp"

namespace charmtree::io {

namespace {

bool runs_here(unsigned machine) {
  static const unsigned own = [] {
    const auto file = ElfFile::open("/proc/self/exe");
    return file ? file->machine() : unsigned{EM_NONE};
  }();
  return own == EM_NONE || machine == own || (own == EM_X86_64 && machine == EM_386) ||
         (own == EM_AARCH64 && machine == EM_ARM);
}

/// The first word behind `#!`; empty: no script, or one without.
std::string interpreter_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::array<char, 256> first{};
  file.read(first.data(), first.size() - 1);
  std::string line = first.data();
  if (!line.starts_with("#!")) return {};
  line = line.substr(2, line.find('\n', 2) - 2);
  const std::size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string::npos) return {};
  return line.substr(begin, line.find_first_of(" \t\r", begin) - begin);
}

bool exists(const std::string& path) {
  return path.empty() || ::access(path.c_str(), F_OK) == 0;
}

}  // namespace

int execution_error(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return errno;
  if (!S_ISREG(info.st_mode)) return EACCES;
  if (::access(path.c_str(), X_OK) != 0) return errno;
  const auto elf = ElfFile::open(path);
  if (elf && !runs_here(elf->machine())) return ENOEXEC;
  return exists(elf ? elf->loader() : interpreter_of(path)) ? 0 : ENOENT;
}

std::string loader_of(const std::string& path) {
  const auto elf = ElfFile::open(path);
  return elf && runs_here(elf->machine()) ? elf->loader() : std::string{};
}

}  // namespace charmtree::io
