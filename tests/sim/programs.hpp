// SPDX-License-Identifier: Apache-2.0
// What the simulated programs are, what their processes say, and how they end.
#pragma once

#include <cstdint>
#include <string>

namespace charmtree::sim {

/// The values of the setting `kind`.
enum Kind : std::uint32_t { plain = 0, is_native = 1, charm = 2 };

// Statuses of charmrun; to kSignalled a signal's number is added.
constexpr int kLauncherFailed = 125, kNoProgram = 127, kSignalled = 128;
// Signals.
constexpr int kInterrupt = 2, kKilled = 9, kSegmentation = 11;
// Statuses of a process that fails, and of one whose launcher was lost.
constexpr int kExitStatus = 3, kCut = 1;

/// The tuple of a process: its port.
inline std::string two_bytes(std::uint16_t value) {
  return {static_cast<char>(value >> 8), static_cast<char>(value & 0xFF)};
}

}  // namespace charmtree::sim
