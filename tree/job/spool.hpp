// SPDX-License-Identifier: Apache-2.0
// The order of what a launcher keeps in its spool file: bytes that do not fit into memory until the parent
// takes them. They are written in chunks, each in one piece, round and round within the file's size, and read
// back in the order in which they came. Pure: what is to be written and read is handed out. Bytes that the
// disk has refused stay in memory.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <string_view>

#include "tree/turn/events.hpp"

namespace charmtree::proto {

class Spool {
public:
  /// What is written at a time.
  static constexpr std::size_t kChunk = 256U << 10;
  /// What may be in memory, because it is being written or there is no room in the file.
  static constexpr std::size_t kMostUnwritten = 4U << 20;

  /// `capacity`: most bytes in the file; 0: there is none.
  explicit Spool(std::uint64_t capacity) : capacity_(capacity) {}

  /// These bytes come back together.
  void append(std::string_view bytes, Actions& out);
  /// The next bytes; nothing if there are none, or none in memory: then they are read, and on(Unspooled) says
  /// when to ask again.
  std::optional<std::string> take(Actions& out);
  void on(const Spooled& event);
  void on(Unspooled event);
  /// What is in it is lost; answers that are still to come are known. The next bytes may take `capacity`.
  void drop(std::uint64_t capacity);

  bool empty() const { return chunks_.empty() && open_.empty(); }
  /// Bytes in memory.
  std::size_t unwritten() const { return unwritten_ + open_.size(); }
  /// The file is as large as it may become, or the disk is full.
  bool is_full() const { return full_; }
  /// Why the disk refused bytes last; empty: it has not.
  const std::string& failure() const { return failure_; }

private:
  struct Chunk {
    wire::Blob bytes;  // null: only in the file
    std::size_t size = 0;
    std::optional<std::uint64_t> offset;  // none: it is not in the file
    std::uint64_t write = 0;              // the number of the one under way; 0: none is
  };
  std::optional<std::uint64_t> place(std::size_t size) const;
  void seal(Actions& out);
  void place_rest(Actions& out);
  std::size_t in_file() const;

  std::uint64_t capacity_;
  std::list<Chunk> chunks_;                 // in order
  std::string open_;                        // behind them, not yet a chunk
  std::uint64_t writes_ = 0, written_ = 0;  // handed out, answered
  std::size_t unwritten_ = 0;
  std::list<std::size_t> taken_;  // sizes of chunks that are gone, and still being written
  bool reading_ = false;          // the first chunk
  bool unwanted_ = false;         // which has been dropped meanwhile
  bool full_ = false;
  bool refused_ = false;  // by the disk, and the file has not become empty since
  std::string failure_;
};

}  // namespace charmtree::proto
