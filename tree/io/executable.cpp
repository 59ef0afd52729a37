// SPDX-License-Identifier: Apache-2.0
#include "tree/io/executable.hpp"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <string_view>

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

/// The line behind `#!`; empty: no script, or one without.
std::string line_of_script(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::array<char, 256> first{};
  file.read(first.data(), first.size() - 1);
  std::string line = first.data();
  if (!line.starts_with("#!")) return {};
  return line.substr(2, line.find('\n', 2) - 2);
}

/// Takes the first word off `line`; empty: there is none.
std::string take_argument(std::string& line) {
  constexpr const char* kBlanks = " \t\r";
  const std::size_t begin = line.find_first_not_of(kBlanks);
  if (begin == std::string::npos) return {};
  const std::size_t end = std::min(line.find_first_of(kBlanks, begin), line.size());
  std::string word = line.substr(begin, end - begin);
  line.erase(0, end);
  return word;
}

std::string interpreter_of(const std::string& path) {
  std::string line = line_of_script(path);
  return take_argument(line);
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

std::string python_of_script(const std::string& path) {
  std::string line = line_of_script(path);
  std::string word = take_argument(line);
  if (word.ends_with("/env")) {
    do word = take_argument(line);
    while (word.starts_with('-'));
  }
  return std::string_view(word).substr(word.rfind('/') + 1).starts_with("python") ? word : std::string{};
}

std::string loader_of(const std::string& path) {
  const auto elf = ElfFile::open(path);
  return elf && runs_here(elf->machine()) ? elf->loader() : std::string{};
}

}  // namespace charmtree::io
