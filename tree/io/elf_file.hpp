// SPDX-License-Identifier: Apache-2.0
// An ELF file on disk, read by its program headers, as the loader does it: sections may have been stripped,
// and are asked only for what goes faster with them. Files of the other byte order are for other machines and
// have nothing but their id.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tree/io/unique_fd.hpp"

namespace charmtree::io {

class ElfFile {
public:
  struct Segment {
    std::uint32_t type = 0, flags = 0;  // PT_..., PF_...
    std::uint64_t offset = 0, address = 0, size = 0;
  };
  struct Range {
    std::uint64_t offset = 0, size = 0;  // in the file
  };
  struct Libraries {
    std::vector<std::string> names;  // DT_NEEDED
    std::string folders;             // DT_RUNPATH, else DT_RPATH; with colons
  };

  /// Nothing if it is no ELF file or cannot be read.
  static std::optional<ElfFile> open(const std::string& path);

  /// EM_...; EM_NONE if the header is cut off or of the other byte order.
  unsigned machine() const { return machine_; }
  const std::vector<Segment>& segments() const { return segments_; }
  /// Its sections of constants (.rodata and the like); none: it has no sections, or they do not say.
  std::vector<Range> constants() const;
  /// The loader that it names; empty: statically linked.
  std::string loader() const;
  /// The libraries that it needs itself.
  Libraries libraries() const;
  /// The names of what it calls and offers, each with a NUL behind it. Empty: it has none, or more than 16
  /// MiB.
  std::string dynamic_names() const;
  /// By which its linker names its contents; empty: it did not.
  std::string build_id() const;
  /// At most `size` bytes from `offset`, fewer at the end of the file.
  std::string read(std::uint64_t offset, std::size_t size) const;

private:
  explicit ElfFile(UniqueFd fd) : fd_(std::move(fd)) {}
  template <class Header, class ProgramHeader>
  void read_headers();
  template <class Header, class SectionHeader>
  std::vector<Range> read_constants() const;
  template <class Dynamic>
  void read_dynamic(const std::string& table, Libraries& libraries) const;
  template <class Dynamic>
  Range find_names(const std::string& table) const;
  std::string text_at(std::uint64_t offset) const;
  std::uint64_t offset_of(std::uint64_t address) const;

  UniqueFd fd_;
  bool wide_ = true;  // 64 bits
  unsigned machine_ = 0;
  std::vector<Segment> segments_;
};

}  // namespace charmtree::io
