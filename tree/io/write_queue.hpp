// SPDX-License-Identifier: Apache-2.0
// Bytes on their way into a descriptor that does not block, in order. Waits for nothing: its owner calls
// again once the descriptor takes bytes. Small pieces that follow each other leave together. With a piece, a
// descriptor may be passed to the reader.
#pragma once

#include <sys/types.h>

#include <cerrno>
#include <deque>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "tree/io/unique_fd.hpp"
#include "tree/wire/codec.hpp"

namespace charmtree::io {

class WriteQueue {
public:
  enum class State { empty, blocked, broken };
  /// Pieces are put together up to this many bytes: copying them costs less than another write.
  static constexpr std::size_t kJoined = 16U << 10;

  void push(std::string bytes) {
    if (!join(bytes)) push(Piece{std::move(bytes), nullptr});
  }
  /// Bytes that others hold, too; null: none.
  void push(wire::Blob bytes) {
    if (bytes && !join(*bytes)) push(Piece{{}, std::move(bytes)});
  }
  /// With its first byte, this is passed.
  void push(std::string bytes, std::shared_ptr<const UniqueFd> passed) {
    push(Piece{std::move(bytes), nullptr, std::move(passed)});
  }
  bool empty() const { return queue_.empty(); }
  /// Bytes not yet written.
  std::size_t size() const { return size_; }

  /// Writes with `put(data, size)`, which behaves like ::write, or `put(data, size, descriptor)` (-1: none),
  /// until nothing is left or nothing more goes. broken: the reader is gone, and the queue is empty then too.
  template <class Put>
  State write(Put put) {
    while (!queue_.empty()) {
      const std::string& front = queue_.front().bytes();
      const char* data = front.data() + written_;
      ssize_t wrote = 0;
      if constexpr (std::is_invocable_v<Put, const char*, std::size_t, int>)
        wrote = put(data, front.size() - written_, written_ == 0 ? queue_.front().descriptor() : -1);
      else
        wrote = put(data, front.size() - written_);
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote < 0 && errno == EAGAIN) return State::blocked;
      if (wrote < 0) {
        queue_.clear();
        size_ = written_ = 0;
        return State::broken;
      }
      written_ += static_cast<std::size_t>(wrote);
      size_ -= static_cast<std::size_t>(wrote);
      if (written_ < front.size()) continue;
      queue_.pop_front();
      written_ = 0;
    }
    return State::empty;
  }

private:
  struct Piece {
    std::string own;
    wire::Blob shared;
    std::shared_ptr<const UniqueFd> passed = {};
    const std::string& bytes() const { return shared ? *shared : own; }
    int descriptor() const { return passed ? passed->get() : -1; }
  };
  /// True: they go with what is before them.
  bool join(const std::string& bytes) {
    if (queue_.empty() || queue_.back().shared || queue_.back().passed ||
        queue_.back().own.size() + bytes.size() > kJoined)
      return false;
    queue_.back().own.append(bytes);
    size_ += bytes.size();
    return true;
  }
  void push(Piece piece) {
    if (piece.bytes().empty()) return;
    size_ += piece.bytes().size();
    queue_.push_back(std::move(piece));
  }

  std::deque<Piece> queue_;
  std::size_t written_ = 0;  // of the front
  std::size_t size_ = 0;
};

}  // namespace charmtree::io
