// SPDX-License-Identifier: Apache-2.0
// What `charmrun ++in` and the root of a session say to each other, in frames (tree/wire/frame.hpp). The
// first word is the root's: what hosts there are, so that the client can make its run. Then comes the run;
// from there on the client is the run's user: it is shown what the run prints, as much as it can take, asked
// for input, and told the result. The end of the connection ends the run.
//
// The list of hosts is the text that the session was made from, so no list can have changed since.
// Back-pressure is that of all output: the client says what it has written.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "tree/base/result.hpp"
#include "tree/turn/events.hpp"
#include "tree/wire/frame.hpp"

namespace charmtree::session {

// ---- the root's

/// Of the session, as its own user has described it.
struct Tree {
  std::string version;  // of the root's charmrun, which must be the client's
  std::string nodelist,
      nodelist_text;  // the file, for messages, and what was in it; empty: there is none
  std::string nodegroup;
  std::uint32_t host_limit = 0;     // ++numHosts
  std::uint32_t virtual_hosts = 0;  // ++hosts
  bool drops = false;               // ++on-host-failure drop
  std::string chosen, excluded;     // ++host, ++exclude
};
/// Lines of ours; see proto::Tone.
struct Said {
  std::uint8_t tone = 0;
  std::string line;
};
/// See proto::Show.
struct ToShow {
  wire::Output output;
  std::string host;
  std::uint32_t processes = 1;
  bool raw = false;
};
/// Read so many bytes of stdin.
struct Wanted {
  std::uint32_t bytes = 0;
};
/// The run is suspended: so be the client.
struct Suspended {};
/// The run is over; what it has printed has come before.
struct Over {
  std::uint8_t status = 0;
  std::uint8_t signal = 0;
  std::vector<wire::Share> shares;  // the processes that the hosts had, as far as it came to that
};

// ---- the client's

struct RunHost {
  std::string name;
  std::uint32_t profile = 0;  // of the job
  std::uint32_t processes = 0;
  friend bool operator==(const RunHost&, const RunHost&) = default;
};
/// A run. Of `job` what is of the tree does not count.
struct Run {
  wire::Blob job;
  std::vector<RunHost> hosts;  // all of the session
  Duration time_limit{0};
  bool int_ends = true;
  bool ends_on_bad_exit = false;
  bool shows_output = true;  // to the user's eyes
};
/// Instead of a run: the session is to end.
struct EndSession {};
/// Of the client, for the run.
struct Signalled {
  std::uint8_t signal = 0;
};
/// Answer to Wanted.
struct Typed {
  std::string bytes;
  bool end = false;
};
/// So much of what was shown (proto::output_cost) has been written, or never will be.
struct Written {
  std::uint64_t cost = 0;
};
/// Answer to ToShow with output that wants a receipt.
struct Delivered {
  std::uint32_t process = 0;
};

using Message = std::variant<Tree, Said, ToShow, Wanted, Suspended, Over, Run, EndSession, Signalled, Typed,
                             Written, Delivered>;

/// True for what the root says.
bool is_of_root(const Message& message);
/// One frame. Error bad_input: it is too large for one.
Result<std::string> encode(const Message& message);

/// Cuts what one end says into messages. What it may not say breaks the connection.
class Decoder {
public:
  enum class To : std::uint8_t { root, client };
  explicit Decoder(To whom) : to_(whom), decoder_(wire::kMaxLinkFrame) {}
  void append(std::string_view bytes) { decoder_.append(bytes); }
  /// Nothing if more bytes are needed; an error (bad_peer) repeats for ever.
  Result<std::optional<Message>> next();

private:
  To to_;
  wire::FrameDecoder decoder_;
  bool broken_ = false;
};

}  // namespace charmtree::session
