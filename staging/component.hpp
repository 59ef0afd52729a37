// SPDX-License-Identifier: Apache-2.0
// The staging component of a launcher. It requests the job's files from the parent, one file after the other,
// and sends children the pieces that they request. A launcher can send a piece as soon as it has it, so all
// levels of the tree work at the same time, and a launcher that comes late needs nothing else. The root reads
// the files where they are.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "staging/events.hpp"
#include "staging/messages.hpp"
#include "tree/turn/turn.hpp"

namespace charmtree::staging {

class StagingComponent {
public:
  using LinkId = proto::LinkId;
  using Turn = proto::Turn;

  /// A whole file with a wrong digest is requested again so often: an earlier job may have left a part of
  /// another file.
  static constexpr std::uint32_t kMostRepeats = 2;

  void begin(Turn& turn);
  void on(const FilesFound& found, Turn& turn);
  void on(const FileWritten& written, Turn& turn);
  void on(PieceRead piece, Turn& turn);
  void down(const StagedPiece& piece, Turn& turn);
  void down(const PieceRefused& refusal, Turn& turn);
  void up(LinkId link, const PieceWanted& wanted, Turn& turn);
  /// Reads the next piece for each child that has requested one that this host has.
  void turn(Turn& turn);

private:
  struct Child {
    PieceWanted wanted;
    bool is_read = false;  // a ReadPiece for it has no answer yet
  };

  void next_file(Turn& turn);
  void ask(bool anew, Turn& turn);
  void done(const std::optional<Error>& error, Turn& turn);
  std::uint32_t percent_sent(Turn& turn) const;
  bool is_fetching() const { return begun_ && !is_done_; }

  std::vector<std::uint64_t> held_;  // bytes of each file that this host has
  std::uint32_t file_ = 0;           // the file that is fetched; the next members are about it
  std::uint64_t next_ = 0;           // the offset of the next piece
  std::uint64_t until_ = 0;          // the end of what has been requested
  std::uint32_t unwritten_ = 0;      // WritePiece actions without an answer
  std::uint32_t repeats_ = 0;
  bool is_open_ = false;  // the shell has answered the first WritePiece
  bool begun_ = false;
  bool is_done_ = false;
  std::optional<Error> failure_;
  std::map<LinkId, Child> children_;
};

}  // namespace charmtree::staging
