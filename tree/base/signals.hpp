// SPDX-License-Identifier: Apache-2.0
// Numbers of signals, for code that may not see the operating system (STYLE.md, "Pure core").
#pragma once

namespace charmtree::signals {

inline constexpr int kHangup = 1, kInterrupt = 2, kQuit = 3, kKill = 9, kUser1 = 10, kUser2 = 12,
                     kBrokenPipe = 13, kTerminate = 15, kContinue = 18, kStop = 19, kTerminalStop = 20;

/// It ends a process for a fault of its own: ILL, TRAP, ABRT, BUS, FPE, SEGV, SYS.
constexpr bool is_crash(int signal) {
  constexpr int kIllegal = 4, kArithmetic = 8, kSegment = 11, kBadCall = 31;
  return (signal >= kIllegal && signal <= kArithmetic) || signal == kSegment || signal == kBadCall;
}

}  // namespace charmtree::signals
