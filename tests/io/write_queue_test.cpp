// SPDX-License-Identifier: Apache-2.0
// The queue before a descriptor that takes what it can.
#include <catch2/catch.hpp>

#include <algorithm>
#include <functional>
#include <vector>

#include "tree/io/write_queue.hpp"

namespace charmtree::write_queue_test {

using namespace charmtree::io;

namespace {

/// Takes so many bytes, then fails with `error`, once for EINTR.
struct Taker {
  std::size_t room = 0;
  int error = EAGAIN;
  std::string taken = {};

  ssize_t operator()(const char* bytes, std::size_t size) {
    if (room == 0) {
      errno = error;
      if (error == EINTR) room = 1000;
      return -1;
    }
    const std::size_t part = std::min(room, size);
    taken.append(bytes, part);
    room -= part;
    return static_cast<ssize_t>(part);
  }
};

}  // namespace

TEST_CASE("bytes that others hold leave in their place and stay as they are", "[queue]") {
  WriteQueue queue;
  const auto shared = std::make_shared<const std::string>("shared ");
  queue.push("one ");
  queue.push(shared);
  queue.push(charmtree::wire::Blob{});
  queue.push("last");
  CHECK(queue.size() == 15);
  Taker taker{6};
  CHECK(queue.write(std::ref(taker)) == WriteQueue::State::blocked);
  taker.room = 100;
  CHECK(queue.write(std::ref(taker)) == WriteQueue::State::empty);
  CHECK(taker.taken == "one shared last");
  CHECK(*shared == "shared ");
}

TEST_CASE("bytes leave in order, as far as there is room", "[queue]") {
  WriteQueue queue;
  for (const char* part : {"one ", "", "two ", "three"}) queue.push(part);
  Taker taker{6};
  CHECK(queue.write(std::ref(taker)) == WriteQueue::State::blocked);
  CHECK(queue.size() == 7);
  taker.room = 100;
  CHECK(queue.write(std::ref(taker)) == WriteQueue::State::empty);
  CHECK(taker.taken == "one two three");
  CHECK(queue.empty());
  CHECK(queue.size() == 0);
}

TEST_CASE("small pieces leave together, large ones as they are", "[queue]") {
  WriteQueue queue;
  const std::string large(WriteQueue::kJoined, 'x');
  std::vector<std::size_t> writes;
  const auto put = [&](const char*, std::size_t size) {
    writes.push_back(size);
    return static_cast<ssize_t>(size);
  };
  for (const char* part : {"one ", "two ", "three"}) queue.push(part);
  queue.push(large);
  queue.push("behind it");
  CHECK(queue.size() == 13 + large.size() + 9);
  CHECK(queue.write(put) == WriteQueue::State::empty);
  CHECK(writes == std::vector<std::size_t>{13, large.size(), 9});
}

TEST_CASE("what joins a piece that has left in part comes behind it", "[queue]") {
  WriteQueue queue;
  queue.push("abcdef");
  Taker taker{3};
  CHECK(queue.write(std::ref(taker)) == WriteQueue::State::blocked);
  queue.push("ghi");
  taker.room = 100;
  CHECK(queue.write(std::ref(taker)) == WriteQueue::State::empty);
  CHECK(taker.taken == "abcdefghi");
}

TEST_CASE("an interrupted write is repeated", "[queue]") {
  WriteQueue queue;
  queue.push("abc");
  Taker taker{0, EINTR};
  CHECK(queue.write(std::ref(taker)) == WriteQueue::State::empty);
  CHECK(taker.taken == "abc");
}

TEST_CASE("what is queued after the reader went begins at its first byte", "[queue]") {
  WriteQueue queue;
  queue.push("abcdef");
  Taker gone{3, EPIPE};
  CHECK(queue.write(std::ref(gone)) == WriteQueue::State::broken);
  CHECK(queue.empty());
  CHECK(queue.size() == 0);
  queue.push("xyz");
  Taker taker{100};
  CHECK(queue.write(std::ref(taker)) == WriteQueue::State::empty);
  CHECK(taker.taken == "xyz");
}

}  // namespace charmtree::write_queue_test
