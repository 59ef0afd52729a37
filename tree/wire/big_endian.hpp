// SPDX-License-Identifier: Apache-2.0
// Charm++'s integers on the wire: 4 bytes, the highest first.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace charmtree::wire {

/// Precondition: bytes.size() >= at + 4.
constexpr std::uint32_t read_u32(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = at; i < at + 4; ++i) value = (value << 8) | static_cast<std::uint8_t>(bytes[i]);
  return value;
}

inline void write_u32(std::string& out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>((value >> shift) & 0xFF));
}

inline void write_u64(std::string& out, std::uint64_t value) {
  write_u32(out, static_cast<std::uint32_t>(value >> 32));
  write_u32(out, static_cast<std::uint32_t>(value));
}

}  // namespace charmtree::wire
