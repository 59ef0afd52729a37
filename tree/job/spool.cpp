// SPDX-License-Identifier: Apache-2.0
// The chunks in the file follow each other, and go on at its beginning when the next one does not fit behind
// the last. The shell carries out writes and reads one after the other, so a chunk may be taken from memory
// and its place used again while it is still being written.
#include "tree/job/spool.hpp"

#include <algorithm>
#include <utility>

namespace charmtree::proto {

void Spool::append(std::string_view bytes, Actions& out) {
  open_.append(bytes);
  if (open_.size() >= kChunk) seal(out);
}

void Spool::seal(Actions& out) {
  Chunk chunk;
  chunk.size = open_.size();
  chunk.bytes = std::make_shared<const std::string>(std::exchange(open_, {}));
  chunk.offset = place(chunk.size);
  full_ = !chunk.offset;
  unwritten_ += chunk.size;
  if (chunk.offset) {
    chunk.write = ++writes_;
    out.push_back(SpoolWrite{*chunk.offset, chunk.bytes});
  }
  chunks_.push_back(std::move(chunk));
}

/// Where the next chunk can stand; nothing: nowhere.
std::optional<std::uint64_t> Spool::place(std::size_t size) const {
  if (refused_ || size > capacity_) return {};
  const auto placed = [](const Chunk& chunk) { return chunk.offset.has_value(); };
  const auto first = std::find_if(chunks_.begin(), chunks_.end(), placed);
  if (first == chunks_.end()) return 0;
  const auto last = std::find_if(chunks_.rbegin(), chunks_.rend(), placed);
  const std::uint64_t begin = *first->offset, end = *last->offset + last->size;
  const bool wrapped = *last->offset < begin;
  if (wrapped) return end + size <= begin ? std::optional{end} : std::nullopt;
  if (end + size <= capacity_) return end;
  return size <= begin ? std::optional<std::uint64_t>{0} : std::nullopt;
}

/// Chunks.
std::size_t Spool::in_file() const {
  return static_cast<std::size_t>(std::count_if(chunks_.begin(), chunks_.end(),
                                                [](const Chunk& chunk) { return chunk.offset.has_value(); }));
}

std::optional<std::string> Spool::take(Actions& out) {
  if (reading_) return {};
  if (chunks_.empty()) return open_.empty() ? std::nullopt : std::optional{std::exchange(open_, {})};
  Chunk& first = chunks_.front();
  if (!first.bytes) {
    reading_ = true;
    out.push_back(SpoolRead{*first.offset, first.size, in_file() == 1});
    return {};
  }
  std::string bytes = *first.bytes;
  if (first.write != 0)
    taken_.push_back(first.size);  // in memory until it has been written nevertheless
  else
    unwritten_ -= first.size;
  chunks_.pop_front();
  if (in_file() == 0) refused_ = false;
  place_rest(out);
  return bytes;
}

/// What had no room in the file gets it when there is some.
void Spool::place_rest(Actions& out) {
  if (!full_) return;
  const auto last = std::find_if(chunks_.rbegin(), chunks_.rend(),
                                 [](const Chunk& chunk) { return chunk.offset.has_value(); });
  for (auto chunk = last.base(); chunk != chunks_.end(); ++chunk) {
    chunk->offset = place(chunk->size);
    if (!chunk->offset) return;
    chunk->write = ++writes_;
    out.push_back(SpoolWrite{*chunk->offset, chunk->bytes});
  }
  full_ = !place(kChunk);
}

void Spool::on(const Spooled& event) {
  if (written_ == writes_) return;
  ++written_;
  if (!event.failure.empty()) failure_ = event.failure;
  const auto it = std::find_if(chunks_.begin(), chunks_.end(),
                               [this](const Chunk& chunk) { return chunk.write == written_; });
  if (it == chunks_.end()) {  // it has been taken meanwhile
    unwritten_ -= taken_.front();
    taken_.pop_front();
    return;
  }
  it->write = 0;
  if (event.failure.empty()) {
    unwritten_ -= it->size;
    it->bytes.reset();
  } else {
    it->offset.reset();
    full_ = refused_ = true;
  }
}

void Spool::drop(std::uint64_t capacity) {
  for (const Chunk& chunk : chunks_) {
    if (chunk.write != 0)
      taken_.push_back(chunk.size);
    else if (chunk.bytes)
      unwritten_ -= chunk.size;
  }
  chunks_.clear();
  open_.clear();
  unwanted_ = reading_;
  full_ = refused_ = false;
  capacity_ = capacity;
}

void Spool::on(Unspooled event) {
  if (!std::exchange(reading_, false) || std::exchange(unwanted_, false)) return;
  Chunk& first = chunks_.front();
  first.offset.reset();
  first.size = event.bytes.size();
  unwritten_ += first.size;
  first.bytes = std::make_shared<const std::string>(std::move(event.bytes));
}

}  // namespace charmtree::proto
