// SPDX-License-Identifier: Apache-2.0
// How a process ended, in words; and one line for those that ended because another one did.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tree/turn/ending.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree::proto {

/// "exited with status 3", "killed by signal 11 (SIGSEGV: Segmentation fault), core dumped".
std::string describe(const wire::ProcessExit& exit);
/// "aborted: out of luck".
std::string describe(const wire::AbortUp& abort);
/// "; " and what a user can do about it; empty where the program's own output says why.
std::string_view remedy(const wire::ProcessExit& exit);
/// `how` it ended is that of a fault of its own that Charm++ has made an abort of.
bool tells_crash(std::string_view how);
Cause cause_of(const wire::ProcessExit& exit);
/// A time in words: "4.5 s", "75 s".
std::string words_for(Duration time);
/// What $? can show of a program's code that is not 0.
int low_byte(int code);
/// The job's status if this end decides it: 128+n, its code, or 1 if that is 0.
int status_of(const wire::ProcessExit& exit);

/// What became of the processes that were still there when the job's end was decided: those of them that
/// charmrun then ended. The others failed as the first cause did.
class Aftermath {
public:
  /// The ways to end that are told.
  static constexpr std::size_t kMaxWays = 4;

  void begin(std::uint32_t others) { others_ = others; }
  /// Records that `process` has failed by an abort, so that it is none of the others.
  void aborted(std::uint32_t process);
  void on(const wire::ProcessExit& exit, int stop_signal);
  /// Empty if there was nobody left.
  std::string line() const;

private:
  std::uint32_t others_ = 0;
  wire::ProcessSet told_;                                   // processes; some may be told again
  std::map<std::string, std::vector<std::uint32_t>> ways_;  // other than by the signal that asked for it
};

}  // namespace charmtree::proto
