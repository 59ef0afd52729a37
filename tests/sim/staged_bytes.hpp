// SPDX-License-Identifier: Apache-2.0
// What stands in the files that simulated jobs send to their hosts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tree/wire/staging.hpp"

namespace charmtree::sim {

/// A file has few bytes in common with the next one.
inline std::string staged_bytes(std::uint32_t file, std::uint64_t offset, std::uint64_t size) {
  std::string bytes(size, '\0');
  for (std::uint64_t i = 0; i < size; ++i)
    bytes[i] =
        static_cast<char>(((offset + i) * 0x9E3779B97F4A7C15ULL ^ (file + 1) * 0xBF58476D1CE4E5B9ULL) >> 56U);
  return bytes;
}

/// None are wanted, or all are there and whole.
inline bool has_files(const wire::StagedFiles* files, const std::vector<std::string>& here) {
  if (files == nullptr) return true;
  for (std::uint32_t i = 0; i < files->files.size(); ++i) {
    if (here[i] != staged_bytes(i, 0, files->files[i].size)) return false;
  }
  return true;
}

}  // namespace charmtree::sim
