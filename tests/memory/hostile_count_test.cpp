// SPDX-License-Identifier: Apache-2.0
// A short frame of the native protocol says that a list of 2^32-1 elements follows: it is refused before
// memory is taken for them.
#include <catch2/catch.hpp>
#include <string>

#include "tests/memory/heap.hpp"
#include "tree/wire/codec.hpp"
#include "tree/wire/native_message.hpp"

using namespace charmtree;
using namespace charmtree::wire;
using charmtree::test::Heap;

namespace {

/// The text of an error, and no list.
constexpr std::size_t kTrifle = 1024;

/// What reading a frame with such a count behind `before` takes. The frame is refused.
std::size_t taken_by(std::uint8_t type, const std::string& before) {
  Writer payload;
  payload.raw(before);
  payload.varint(UINT32_MAX);
  payload.raw(std::string(64, '\0'));
  Heap::take_peak();
  const std::size_t live = Heap::live();
  const bool is_from_launcher = type >= 65;
  const Frame frame{type, payload.bytes()};
  const bool taken =
      is_from_launcher ? native::decode_from_launcher(frame).ok() : native::decode_from_client(frame).ok();
  CHECK_FALSE(taken);
  return Heap::take_peak() - live;
}

/// The type of a message is in its frame.
std::uint8_t type_of(const std::string& frame) {
  return static_cast<std::uint8_t>(frame[kFrameHeader - 1]);
}

}  // namespace

TEST_CASE("a count of 2^32-1 in a short native frame takes no memory", "[native]") {
  const std::uint8_t put = type_of(native::to_frame(native::Put{}));
  const std::uint8_t lost = type_of(native::to_frame(native::Lost{}));
  const std::uint8_t renewed = type_of(native::to_frame(native::Renewed{}));
  const std::string epoch{"\3"}, pes{"\1"}, no_entries(1, '\0'), block_of{"\1\0\0\0", 4};
  CHECK(taken_by(put, "") < kTrifle);                                 // bytes of a text
  CHECK(taken_by(lost, "") < kTrifle);                                // ranges
  CHECK(taken_by(renewed, epoch + no_entries) < kTrifle);             // blocks
  CHECK(taken_by(renewed, epoch + no_entries + block_of) < kTrifle);  // tuples of a block
}

TEST_CASE("ranges beyond the limit of one message take no memory, though all are there", "[native]") {
  Writer payload;
  payload.varint(native::kMaxLost + 1);
  for (std::size_t i = 0; i <= native::kMaxLost; ++i) {
    payload.varint(i);
    payload.varint(i);
  }
  const std::string bytes = payload.take();
  Heap::take_peak();
  const std::size_t live = Heap::live();
  CHECK_FALSE(native::decode_from_launcher({type_of(native::to_frame(native::Lost{})), bytes}).ok());
  CHECK(Heap::take_peak() - live < kTrifle);
}
