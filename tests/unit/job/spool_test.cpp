// SPDX-License-Identifier: Apache-2.0
#include "tree/job/spool.hpp"

#include <catch2/catch.hpp>
#include <map>

namespace charmtree::spool_test {

using namespace charmtree::proto;

namespace {

constexpr std::size_t kChunk = Spool::kChunk;

/// A spool and the file that its orders are carried out on, one after the other, when work() is called.
struct Bench {
  explicit Bench(std::uint64_t capacity) : spool(capacity) {}
  Spool spool;
  Actions out;
  std::map<std::uint64_t, std::string> file;
  std::uint64_t highest = 0;  // end of what was ever written
  std::size_t at = 0, room = SIZE_MAX;
  int emptied = 0;

  void append(char what, std::size_t size = kChunk) { spool.append(std::string(size, what), out); }
  void work() {
    for (; at < out.size(); ++at) {
      if (const auto* write = get_if<SpoolWrite>(&out[at])) {
        const bool fits = room >= write->bytes->size();
        if (fits) {
          file[write->offset] = *write->bytes;
          highest = std::max(highest, write->offset + write->bytes->size());
        }
        spool.on(fits ? Spooled{} : Spooled{"/tmp: No space left on device"});
      } else if (const auto* read = get_if<SpoolRead>(&out[at])) {
        REQUIRE(file.at(read->offset).size() == read->size);
        spool.on(Unspooled{file[read->offset]});
        if (read->last) ++emptied;
      }
    }
  }
  /// The next chunk's letter; 0: there is none.
  char take() {
    auto bytes = spool.take(out);
    if (!bytes) {
      work();
      bytes = spool.take(out);
    }
    return bytes ? bytes->front() : '\0';
  }
};

}  // namespace

TEST_CASE("what was put into the spool comes back in order, round and round in the file") {
  Bench b{3 * kChunk};
  char next_in = 'a', next_out = 'a';
  for (int i = 0; i < 3; ++i) b.append(next_in++);
  b.work();
  CHECK(b.spool.unwritten() == 0);
  for (int i = 0; i < 20; ++i) {
    CHECK(b.take() == next_out++);
    b.append(next_in++);
    b.work();
    CHECK_FALSE(b.spool.is_full());
  }
  while (next_out < next_in) CHECK(b.take() == next_out++);
  CHECK(b.take() == '\0');
  CHECK(b.spool.empty());
  CHECK(b.highest == 3 * kChunk);
  CHECK(b.emptied == 1);
}

TEST_CASE("a few bytes never see the file, and what is still being written is taken from memory") {
  Bench b{8 * kChunk};
  b.append('a', 10);
  CHECK(b.take() == 'a');
  CHECK(b.out.empty());
  b.append('b');
  b.append('c');
  CHECK(b.take() == 'b');  // its write has not been answered
  b.append('d');           // at b's place? no: c still stands behind it
  b.work();
  CHECK(b.take() == 'c');
  CHECK(b.take() == 'd');
  CHECK(b.spool.unwritten() == 0);
}

TEST_CASE("an answer counts for the write that it belongs to, also if its place was used again") {
  Bench b{kChunk};
  b.append('a');
  CHECK(b.take() == 'a');
  b.append('b');  // at the same place, behind a's write
  REQUIRE(b.out.size() == 2);
  b.spool.on(Spooled{});
  CHECK(b.spool.unwritten() == kChunk);  // b is not yet in the file
  b.spool.on(Spooled{});
  CHECK(b.spool.unwritten() == 0);
}

TEST_CASE("beyond the file's size the spool is full, and is not when there is room again") {
  Bench b{2 * kChunk};
  b.append('a');
  b.append('b');
  b.work();
  CHECK_FALSE(b.spool.is_full());
  b.append('c');
  CHECK(b.spool.is_full());
  CHECK(b.spool.unwritten() == kChunk);
  CHECK(b.take() == 'a');
  CHECK(b.spool.is_full());  // c has the room
  CHECK(b.take() == 'b');
  CHECK_FALSE(b.spool.is_full());
  CHECK(b.take() == 'c');
  CHECK(b.spool.empty());
}

TEST_CASE("what had no room is written when there is some") {
  Bench b{2 * kChunk};
  for (const char what : {'a', 'b', 'c', 'd'}) b.append(what);
  b.work();
  CHECK(b.spool.unwritten() == 2 * kChunk);
  CHECK(b.take() == 'a');
  b.work();
  CHECK(b.spool.unwritten() == kChunk);  // c stands where a stood
  CHECK(b.take() == 'b');
  b.work();
  CHECK(b.spool.unwritten() == 0);
  b.append('e');
  CHECK(b.spool.is_full());
  for (const char what : {'c', 'd', 'e'}) CHECK(b.take() == what);
  CHECK(b.spool.empty());
  CHECK_FALSE(b.spool.is_full());
}

TEST_CASE("what is taken while it is being written counts as memory until it has been") {
  Bench b{8 * kChunk};
  b.append('a');
  CHECK(b.take() == 'a');
  CHECK(b.spool.unwritten() == kChunk);
  b.append('b');
  CHECK(b.spool.unwritten() == 2 * kChunk);
  b.work();
  CHECK(b.spool.unwritten() == 0);
}

TEST_CASE("what the disk refuses stays in memory, and it is not asked again before the file is empty") {
  Bench b{100 * kChunk};
  b.append('a');
  b.work();
  b.room = 0;
  b.append('b');
  b.append('c');
  b.work();
  CHECK(b.spool.is_full());
  CHECK(b.spool.failure() == "/tmp: No space left on device");
  CHECK(b.spool.unwritten() == 2 * kChunk);
  const std::size_t orders = b.out.size();
  b.append('d');
  CHECK(b.out.size() == orders);
  for (const char c : {'a', 'b', 'c', 'd'}) CHECK(b.take() == c);
  b.room = SIZE_MAX;
  b.append('e');
  b.work();
  CHECK_FALSE(b.spool.is_full());
  CHECK(b.take() == 'e');
}

TEST_CASE("a spool of no size writes nothing") {
  Bench b{0};
  b.append('a');
  CHECK(b.out.empty());
  CHECK(b.spool.is_full());
  CHECK(b.take() == 'a');
}

TEST_CASE("bytes that cannot be read back are gone, and the next ones come") {
  Bench b{8 * kChunk};
  b.append('a');
  b.append('b');
  b.work();
  CHECK_FALSE(b.spool.take(b.out));
  b.spool.on(Unspooled{{}, "/tmp: Input/output error"});
  ++b.at;
  const auto lost = b.spool.take(b.out);
  REQUIRE(lost);
  CHECK(lost->empty());
  CHECK(b.take() == 'b');
}

TEST_CASE("what is dropped does not come back, though the disk still answers") {
  Bench b{8 * kChunk};
  b.append('a');
  b.append('b');
  b.work();
  CHECK_FALSE(b.spool.take(b.out));  // is read
  b.append('c');                     // is written
  b.spool.drop(8 * kChunk);
  CHECK(b.spool.empty());
  b.append('d');
  b.work();
  CHECK(b.spool.unwritten() == 0);
  CHECK(b.take() == 'd');
  CHECK(b.spool.empty());
}

}  // namespace charmtree::spool_test
