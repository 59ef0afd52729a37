// SPDX-License-Identifier: Apache-2.0
// A table of our own: sigabbrev_np is of glibc 2.32, and hosts are older.
#include "tree/base/signal_name.hpp"

#include <array>

namespace charmtree {

std::string_view signal_name(int signal) {
  constexpr std::array<std::string_view, 32> kNames = {
      "",     "HUP",  "INT",  "QUIT", "ILL",    "TRAP",   "ABRT",  "BUS",  "FPE",  "KILL", "USR1",
      "SEGV", "USR2", "PIPE", "ALRM", "TERM",   "STKFLT", "CHLD",  "CONT", "STOP", "TSTP", "TTIN",
      "TTOU", "URG",  "XCPU", "XFSZ", "VTALRM", "PROF",   "WINCH", "POLL", "PWR",  "SYS"};
  return signal < 0 || signal >= static_cast<int>(kNames.size()) ? ""
                                                                 : kNames[static_cast<std::size_t>(signal)];
}

}  // namespace charmtree
