// SPDX-License-Identifier: Apache-2.0
// Why a job ended: its first cause, as the report tells it. The status that goes with it is in the Verdict
// and in Finish.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tree/turn/process_ends.hpp"
#include "tree/wire/process_set.hpp"

namespace charmtree::proto {

/// What kind of first cause. Names are kept in reports.
enum class Cause : std::uint8_t {
  finished,     // the program is done, and nothing went wrong
  exit,         // a process exited with another status than 0, or too early
  killed,       // a process was killed by a signal
  abort,        // a process gave up, and said so
  connection,   // a process was lost, and how does not show
  user_signal,  // of the user's, to charmrun
  time_limit,   // ++timelimit
  launcher,     // charmrun, a host, or the start of the program
};
std::string_view name(Cause cause);

struct Ending {
  Cause cause = Cause::finished;
  std::optional<std::uint32_t> process = {};  // the first cause was its end
  std::optional<std::uint32_t> host = {};     // where that happened
  std::string how = {};                       // in words, without host and process
  std::vector<std::string> last_words = {};   // the process's last lines on stderr, oldest first
  std::vector<std::string> stack = {};        // of the process: where it crashed, if that is known
  wire::ProcessSet lost = {};                 // processes without which the job went on
  std::map<std::uint32_t, std::uint32_t> restarted = {};  // processes that were started again, and how often
  std::uint32_t restarts = 0;                             // of the program as a whole, before this
  wire::ProcessSet silent = {};                           // did not serve their sockets then (++hang-after)
  ProcessEnds ends = {};                                  // of all processes, as far as is known
};

}  // namespace charmtree::proto
