// SPDX-License-Identifier: Apache-2.0
// A conversation between a launcher and the Charm++ clients of its host, as a text
// (tests/transcripts/README.md), and its replay against a CharmServer.
#pragma once

#include <string>
#include <vector>

#include "tree/clients/client_server.hpp"

namespace charmtree::test {

struct TranscriptLine {
  enum class Kind {
    start,       // every process registers and gets its table; not checked
    says,        // the client `name` sends `bytes`
    hangs_up,    // ... closes its connection
    hears,       // ... must have got `bytes`
    is_closed,   // ... must be closed by the launcher
    tree_hears,  // the tree must have heard `words` and `bytes`
    tree_says,   // ... says them
    time_passes,
  };
  Kind kind;
  std::string name;
  std::vector<std::string> words;
  std::string bytes;
  Duration pause{0};
  int number = 0;  // in the file
};

struct Transcript {
  proto::LocalProcesses local;
  std::uint32_t pes = 1;
  std::vector<wire::TupleBlock> hosts;  // without tuples; of `local` with as many as processes
  std::vector<TranscriptLine> lines;
};

/// Throws std::runtime_error with the line's number if the text is none.
Transcript parse_transcript(const std::string& text);

enum class Replay {
  as_written,
  dribbled,  // each client's bytes one at a time
  merged,    // what one client says in a row at once
  disturbed  // with all sorts of strange connections before each line
};

/// What went otherwise than written, with the line's number; empty: nothing.
std::string replay(const Transcript& transcript, Replay how);

}  // namespace charmtree::test
