// SPDX-License-Identifier: Apache-2.0
// Bytes of a real start of two processes on one host, as charmrun and a netlrts program exchanged them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace charm_capture {

/// Hex digits as bytes; everything else is only there to be read.
inline std::string hex(std::string_view digits) {
  std::string bytes, pair;
  for (const char c : digits) {
    if (std::string_view{"0123456789abcdef"}.find(c) == std::string_view::npos) continue;
    pair.push_back(c);
    if (pair.size() == 2) {
      bytes.push_back(static_cast<char>(std::stoi(pair, nullptr, 16)));
      pair.clear();
    }
  }
  return bytes;
}

/// The header of a message: "00000028" and the type, padded to 12 bytes.
inline std::string header(std::string_view length, std::string_view type) {
  std::string bytes = hex(length) + std::string{type};
  bytes.resize(16, '\0');
  return bytes;
}

inline const std::string kInitnode0 =
    header("00000028", "initnode") +
    hex("00000000 00000002 00000002 00000001 | 00000000 00000000 00000000 0000a4b9 00000000 c0000202");
inline const std::string kInitnode1 =
    header("00000028", "initnode") +
    hex("00000001 00000002 00000002 00000001 | 00000000 00000000 00000000 0000bee5 00000000 c0000202");

inline const std::string kTableEntries =
    hex("00000000 00000002 00000001 0000a4b9 00000000 7f000001 | 00000001 00000002 00000001 0000bee5 "
        "00000000 7f000001");
inline const std::string kTable0 =
    header("00000038", "initnodetab") + hex("00000002 00000000") + kTableEntries;
inline const std::string kTable1 =
    header("00000038", "initnodetab") + hex("00000002 00000001") + kTableEntries;

}  // namespace charm_capture
