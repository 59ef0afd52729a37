// SPDX-License-Identifier: Apache-2.0
// Both ELF classes have the same members under the same names, so one template reads either.
#include "tree/io/elf_file.hpp"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cstring>
#include <string_view>

namespace charmtree::io {

namespace {

constexpr std::size_t kMostHeaders = 256, kMostText = 4096;
constexpr std::size_t kMostDynamic = 64U << 10;  // 4,096 entries; libraries need a few dozen
constexpr std::size_t kMostNeeded = 256;
constexpr std::size_t kMostSectionNames = 64U << 10;
constexpr std::uint64_t kMaxNames = 16U << 20;  // bytes; programs of C++ have 1 MiB or so

template <class T>
std::optional<T> at(const std::string& bytes, std::size_t offset) {
  if (bytes.size() < offset + sizeof(T)) return {};
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

}  // namespace

std::string ElfFile::read(std::uint64_t offset, std::size_t size) const {
  std::string bytes(size, '\0');
  std::size_t filled = 0;
  while (filled < size) {
    const ssize_t got =
        ::pread(fd_.get(), bytes.data() + filled, size - filled, static_cast<off_t>(offset + filled));
    if (got <= 0) break;
    filled += static_cast<std::size_t>(got);
  }
  bytes.resize(filled);
  return bytes;
}

std::optional<ElfFile> ElfFile::open(const std::string& path) {
  constexpr unsigned char kOurOrder = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
  ElfFile file{UniqueFd{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)}};
  if (!file.fd_) return {};
  const std::string id = file.read(0, EI_NIDENT);
  if (id.size() < EI_NIDENT || !id.starts_with(ELFMAG)) return {};
  if (static_cast<unsigned char>(id[EI_DATA]) != kOurOrder) return file;
  file.wide_ = id[EI_CLASS] == ELFCLASS64;
  if (file.wide_)
    file.read_headers<Elf64_Ehdr, Elf64_Phdr>();
  else
    file.read_headers<Elf32_Ehdr, Elf32_Phdr>();
  return file;
}

template <class Header, class ProgramHeader>
void ElfFile::read_headers() {
  const auto header = at<Header>(read(0, sizeof(Header)), 0);
  if (!header) return;
  machine_ = header->e_machine;
  const std::string table =
      read(header->e_phoff, std::min<std::size_t>(header->e_phnum, kMostHeaders) * sizeof(ProgramHeader));
  for (std::size_t i = 0; const auto entry = at<ProgramHeader>(table, i * sizeof(ProgramHeader)); ++i)
    segments_.push_back({entry->p_type, entry->p_flags, entry->p_offset, entry->p_vaddr, entry->p_filesz});
}

std::vector<ElfFile::Range> ElfFile::constants() const {
  if (machine_ == EM_NONE) return {};
  return wide_ ? read_constants<Elf64_Ehdr, Elf64_Shdr>() : read_constants<Elf32_Ehdr, Elf32_Shdr>();
}

/// By name: neither types nor flags tell them from the tables of the unwinder, which are much larger.
template <class Header, class SectionHeader>
std::vector<ElfFile::Range> ElfFile::read_constants() const {
  const auto header = at<Header>(read(0, sizeof(Header)), 0);
  if (!header || header->e_shentsize != sizeof(SectionHeader) || header->e_shnum > kMostHeaders) return {};
  const std::string table = read(header->e_shoff, header->e_shnum * sizeof(SectionHeader));
  const auto texts = at<SectionHeader>(table, header->e_shstrndx * sizeof(SectionHeader));
  if (!texts) return {};
  const std::string names =
      read(texts->sh_offset, std::min<std::uint64_t>(texts->sh_size, kMostSectionNames));
  std::vector<Range> found;
  for (std::size_t i = 0; const auto entry = at<SectionHeader>(table, i * sizeof(SectionHeader)); ++i) {
    if (entry->sh_type != SHT_PROGBITS || (entry->sh_flags & (SHF_ALLOC | SHF_WRITE)) != SHF_ALLOC) continue;
    if (entry->sh_name >= names.size()) continue;
    const std::string_view name = std::string_view{names}.substr(entry->sh_name);
    if (name.starts_with(".rodata") || name.starts_with(".lrodata"))
      found.push_back({entry->sh_offset, entry->sh_size});
  }
  return found;
}

std::string ElfFile::text_at(std::uint64_t offset) const {
  const std::string text = read(offset, kMostText);
  return text.substr(0, text.find('\0'));
}

std::string ElfFile::loader() const {
  for (const Segment& segment : segments_) {
    if (segment.type != PT_INTERP || segment.size > kMostText) continue;
    const std::string name = read(segment.offset, segment.size);
    return name.substr(0, name.find('\0'));
  }
  return {};
}

/// A note is a header, a name and what it says; both begin at multiples of 4.
std::string ElfFile::build_id() const {
  constexpr std::string_view kOwner{"GNU", 4};  // with its NUL
  const auto padded = [](std::size_t size) { return (size + 3) / 4 * 4; };
  for (const Segment& segment : segments_) {
    if (segment.type != PT_NOTE || segment.size > kMostText) continue;
    const std::string notes = read(segment.offset, segment.size);
    std::size_t place = 0;
    while (const auto note = at<Elf64_Nhdr>(notes, place)) {  // the same in either class
      const std::size_t name = place + sizeof(Elf64_Nhdr), said = name + padded(note->n_namesz);
      if (said + note->n_descsz > notes.size()) break;
      if (note->n_type == NT_GNU_BUILD_ID && notes.substr(name, note->n_namesz) == kOwner)
        return notes.substr(said, note->n_descsz);
      place = said + padded(note->n_descsz);
    }
  }
  return {};
}

std::uint64_t ElfFile::offset_of(std::uint64_t address) const {
  for (const Segment& segment : segments_) {
    if (segment.type == PT_LOAD && address >= segment.address && address - segment.address < segment.size)
      return segment.offset + (address - segment.address);
  }
  return 0;
}

template <class Dynamic>
void ElfFile::read_dynamic(const std::string& table, Libraries& libraries) const {
  std::vector<std::uint64_t> names;
  std::uint64_t texts = 0, run_path = 0, rpath = 0;
  for (std::size_t i = 0; const auto entry = at<Dynamic>(table, i * sizeof(Dynamic)); ++i) {
    const auto value = static_cast<std::uint64_t>(entry->d_un.d_val);
    if (entry->d_tag == DT_NULL) break;
    if (entry->d_tag == DT_NEEDED && names.size() < kMostNeeded) names.push_back(value);
    if (entry->d_tag == DT_STRTAB) texts = offset_of(value);
    if (entry->d_tag == DT_RUNPATH) run_path = value;
    if (entry->d_tag == DT_RPATH) rpath = value;
  }
  if (texts == 0) return;
  for (const std::uint64_t name : names) libraries.names.push_back(text_at(texts + name));
  if (run_path != 0 || rpath != 0) libraries.folders = text_at(texts + (run_path != 0 ? run_path : rpath));
}

ElfFile::Libraries ElfFile::libraries() const {
  Libraries libraries;
  for (const Segment& segment : segments_) {
    if (segment.type != PT_DYNAMIC) continue;
    const std::string table = read(segment.offset, std::min<std::uint64_t>(segment.size, kMostDynamic));
    if (wide_)
      read_dynamic<Elf64_Dyn>(table, libraries);
    else
      read_dynamic<Elf32_Dyn>(table, libraries);
  }
  return libraries;
}

template <class Dynamic>
ElfFile::Range ElfFile::find_names(const std::string& table) const {
  Range names;
  for (std::size_t i = 0; const auto entry = at<Dynamic>(table, i * sizeof(Dynamic)); ++i) {
    const auto value = static_cast<std::uint64_t>(entry->d_un.d_val);
    if (entry->d_tag == DT_NULL) break;
    if (entry->d_tag == DT_STRTAB) names.offset = offset_of(value);
    if (entry->d_tag == DT_STRSZ) names.size = value;
  }
  return names;
}

std::string ElfFile::dynamic_names() const {
  for (const Segment& segment : segments_) {
    if (segment.type != PT_DYNAMIC) continue;
    const std::string table = read(segment.offset, std::min<std::uint64_t>(segment.size, kMostDynamic));
    const Range names = wide_ ? find_names<Elf64_Dyn>(table) : find_names<Elf32_Dyn>(table);
    if (names.offset != 0 && names.size <= kMaxNames) return read(names.offset, names.size);
  }
  return {};
}

}  // namespace charmtree::io
