// SPDX-License-Identifier: Apache-2.0
// The part that gets the job's files to this host, one after the other, from the launcher above, and hands on
// what is here to those below that ask for it (wire::StagedFiles). What a launcher has of a file it can give
// at once: all levels of the tree are busy at the same time. The root has all of them.
//
// Its messages: PieceWanted, StagedPiece, PieceRefused.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "tree/turn/turn.hpp"

namespace charmtree::proto {

class StagingPart {
public:
  /// A file that came, and is not the root's when it is whole, is asked for again so often at most: what an
  /// earlier job had left of it may have been another one's.
  static constexpr std::uint32_t kMostRepeats = 2;

  /// The run begins.
  void begin(Turn& turn);
  void on(const FilesFound& found, Turn& turn);
  void on(const FileWritten& written, Turn& turn);
  void on(PieceRead piece, Turn& turn);
  void down(const wire::StagedPiece& piece, Turn& turn);
  void down(const wire::PieceRefused& refusal, Turn& turn);
  void up(LinkId link, const wire::PieceWanted& wanted, Turn& turn);
  /// Those below get what they want and is here.
  void turn(Turn& turn);

private:
  struct Child {
    wire::PieceWanted wanted;
    bool is_read = false;  // the next piece of it
  };

  void next_file(Turn& turn);
  void ask(bool anew, Turn& turn);
  void done(const std::optional<Error>& error, Turn& turn);
  std::uint32_t percent_sent(Turn& turn) const;
  bool is_fetching() const { return begun_ && !is_done_; }

  std::vector<std::uint64_t> held_;  // of each file, so many bytes can be given
  std::uint32_t file_ = 0;           // that is fetched
  std::uint64_t next_ = 0;           // of it, what the next piece is to begin with
  std::uint64_t until_ = 0;          // asked for
  std::uint32_t unwritten_ = 0;      // orders to write it that were not answered
  std::uint32_t repeats_ = 0;        // of this file
  bool begun_ = false;
  bool is_open_ = false;  // the place for that file
  bool is_done_ = false;
  std::optional<Error> failure_;
  std::map<LinkId, Child> children_;
};

}  // namespace charmtree::proto
