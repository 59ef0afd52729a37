// SPDX-License-Identifier: Apache-2.0
// The numbers in messages of Charm++'s protocol, for clients that tests simulate: 32 bits, the highest first.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace charmtree::sim {

inline std::string words(std::initializer_list<std::uint32_t> values) {
  std::string bytes;
  for (const std::uint32_t value : values) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(value >> shift));
  }
  return bytes;
}

/// Bytes that are missing are not counted.
inline std::uint32_t word(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = at; i < at + 4 && i < bytes.size(); ++i)
    value = value << 8 | static_cast<std::uint8_t>(bytes[i]);
  return value;
}

}  // namespace charmtree::sim
