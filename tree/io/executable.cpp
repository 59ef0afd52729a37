// SPDX-License-Identifier: Apache-2.0
// Both ELF classes have the same members under the same names, so one template reads either. Files of the
// other byte order are for other machines anyway.
#include "tree/io/executable.hpp"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>

namespace charmtree::io {

namespace {

constexpr std::size_t kMostPath = 4096, kMostHeaders = 256;

/// `loader` empty: statically linked.
struct Elf {
  unsigned machine = EM_NONE;
  std::string loader;
};

template <class T>
bool read_at(std::ifstream& file, std::uint64_t offset, T& value) {
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(reinterpret_cast<char*>(&value), sizeof value);
  return file.good();
}

template <class Header, class Segment>
Elf read_elf(std::ifstream& file) {
  Elf elf;
  Header header{};
  if (!read_at(file, 0, header)) return elf;
  elf.machine = header.e_machine;
  for (std::size_t i = 0; i < header.e_phnum && i < kMostHeaders; ++i) {
    Segment segment{};
    if (!read_at(file, header.e_phoff + i * sizeof segment, segment)) break;
    if (segment.p_type != PT_INTERP || segment.p_filesz > kMostPath) continue;
    elf.loader.resize(segment.p_filesz);
    file.seekg(static_cast<std::streamoff>(segment.p_offset));
    file.read(elf.loader.data(), static_cast<std::streamsize>(elf.loader.size()));
    elf.loader.resize(std::strlen(elf.loader.c_str()));  // up to its NUL
  }
  return elf;
}

/// Nothing if it is no ELF file.
std::optional<Elf> elf_of(const std::string& path) {
  constexpr unsigned char kOurOrder = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
  std::ifstream file(path, std::ios::binary);
  std::array<unsigned char, EI_NIDENT> id{};
  if (!read_at(file, 0, id) || std::memcmp(id.data(), ELFMAG, SELFMAG) != 0) return {};
  if (id[EI_DATA] != kOurOrder) return Elf{};
  return id[EI_CLASS] == ELFCLASS64 ? read_elf<Elf64_Ehdr, Elf64_Phdr>(file)
                                    : read_elf<Elf32_Ehdr, Elf32_Phdr>(file);
}

bool runs_here(unsigned machine) {
  static const auto own = elf_of("/proc/self/exe");
  if (!own || machine == own->machine) return true;
  return (own->machine == EM_X86_64 && machine == EM_386) ||
         (own->machine == EM_AARCH64 && machine == EM_ARM);
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
  const auto elf = elf_of(path);
  if (elf && !runs_here(elf->machine)) return ENOEXEC;
  return exists(elf ? elf->loader : interpreter_of(path)) ? 0 : ENOENT;
}

std::string loader_of(const std::string& path) {
  const auto elf = elf_of(path);
  return elf && runs_here(elf->machine) ? elf->loader : std::string{};
}

}  // namespace charmtree::io
