// SPDX-License-Identifier: Apache-2.0
// The messages of the service `session` (++in). The first one is charmrun's: the hosts of the session, so
// that the client can plan its run. The client answers with the run and is its user from then on: it gets
// what the run prints, as fast as it writes that, is asked for input, and gets the result. The end of the
// connection ends the run. Pure.
//
// The list of hosts is the text that the session was made from, so no list can have changed since.
// Back-pressure is that of all output: the client reports what it has written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "charmrun/control/shown.hpp"
#include "tree/base/result.hpp"
#include "tree/turn/events.hpp"
#include "tree/wire/frame.hpp"

namespace charmtree::session {

inline constexpr std::string_view kSessionService = "session";

// ---- of charmrun

/// The hosts of the session, as its own user has described them.
struct Tree {
  std::string nodelist,
      nodelist_text;  // the file, for messages, and what was in it; empty: there is none
  std::string nodegroup;
  std::uint32_t host_limit = 0;     // ++numHosts
  std::uint32_t virtual_hosts = 0;  // ++hosts
  bool drops = false;               // ++on-host-failure drop
  std::string chosen, excluded;     // ++host, ++exclude
};
/// A request for so many bytes of stdin.
struct Wanted {
  std::uint32_t bytes = 0;
};
/// The run is suspended; the client stops, too.
struct Suspended {};
/// The run is over; what it has printed has come before.
struct Over {
  std::uint8_t status = 0;
  std::uint8_t signal = 0;
  std::vector<wire::Share> shares;  // the processes that the hosts had, as far as it came to that
};

// ---- of the client

struct RunHost {
  std::string name;
  std::uint32_t profile = 0;  // of the job
  std::uint32_t processes = 0;
  friend bool operator==(const RunHost&, const RunHost&) = default;
};
/// A run. The parts of `job` that describe the tree do not count.
struct Run {
  wire::Blob job;
  std::vector<RunHost> hosts;  // all of the session
  Duration time_limit{0};
  bool int_ends = true;
  bool ends_on_bad_exit = false;
  bool shows_output = true;  // to the user's eyes
};
/// A signal for the run.
struct Signalled {
  std::uint8_t signal = 0;
};
/// The answer to Wanted.
struct Typed {
  std::string bytes;
  bool end = false;
};
/// So much of the output (proto::output_cost) has been written, or never will be.
struct Written {
  std::uint64_t cost = 0;
};
/// The answer to Printed with output that wants a receipt.
struct Delivered {
  std::uint32_t process = 0;
};

using Message = std::variant<Tree, control::Line, control::Printed, Wanted, Suspended, Over, Run, Signalled,
                             Typed, Written, Delivered>;

/// Error bad_input: the message is larger than a frame may be.
Result<std::string> encode(const Message& message);
bool decode(const wire::Frame& frame, Message& message);

}  // namespace charmtree::session
