// SPDX-License-Identifier: Apache-2.0
// Tuples that count up, and what a list of blocks makes of them.
#include "tree/wire/counted_field.hpp"

#include <catch2/catch.hpp>

#include "tree/base/random.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree::counted_field_test {

using namespace charmtree::wire;
using Order = CountedField::Order;

namespace {

/// `count` tuples as `form`, with numbers from `number` on at that place.
std::vector<Tuple> counted(const std::string& form, const CountedField& field, std::uint32_t number,
                           std::uint32_t count) {
  std::vector<Tuple> tuples(count, Tuple{0, form});
  for (Tuple& tuple : tuples) field.set(tuple.data, static_cast<std::uint16_t>(number++));
  return tuples;
}

std::string coded(const std::vector<TupleBlock>& blocks) {
  Writer out;
  encode(out, blocks);
  return out.take();
}

/// Nothing: they are not taken, or not all of them.
std::optional<std::vector<TupleBlock>> decoded(std::string_view bytes) {
  Reader in{bytes};
  auto blocks = decode_blocks(in);
  if (!in.finished()) return {};
  return blocks;
}

/// One block of so many processes: the only entry of the dictionary is `blank`, the number in it at `place`
/// (offset * 2, + 1 for little endian) counts up from `first`.
std::string block_of(const std::string& blank, std::uint64_t size, std::uint64_t place, std::int64_t first,
                     std::uint64_t index = 0) {
  Writer out;
  out.varint(1);
  out.string(blank);
  out.varint(1);                               // block
  for (int i = 0; i < 4; ++i) out.svarint(0);  // host, process, address
  out.varint(size);
  out.varint(3);  // tuples count up, ports are a run
  out.svarint(0);
  out.svarint(0);
  out.varint(index);
  out.varint(place);
  out.svarint(first);
  return out.take();
}

}  // namespace

TEST_CASE("a number that counts up is found in either order, also where its lower byte begins anew",
          "[table]") {
  for (const Order order : {Order::big_endian, Order::little_endian}) {
    for (const std::size_t offset : {0U, 3U, 6U}) {
      const auto tuples = counted("a tuple.", {offset, order}, 0x12FE, 4);
      const auto field = counted_field(tuples);
      REQUIRE(field);
      CHECK((field->offset == offset && field->order == order));
      CHECK(field->in(tuples[3].data) == 0x1301);
    }
  }
  CHECK(counted_field(counted("ab", {}, 0xFFFE, 2)));
}

TEST_CASE("other tuples have no number that counts up", "[table]") {
  auto tuples = counted("tuple", {1, Order::big_endian}, 7, 4);
  CHECK_FALSE(counted_field({}));
  CHECK_FALSE(counted_field({tuples[0]}));
  CHECK_FALSE(counted_field({tuples[0], tuples[0]}));
  CHECK_FALSE(counted_field({tuples[1], tuples[0]}));
  CHECK_FALSE(counted_field({tuples[0], tuples[2]}));
  CHECK_FALSE(counted_field({{0, "a"}, {0, "b"}}));
  CHECK_FALSE(counted_field({{0, ""}, {0, ""}}));
  CHECK_FALSE(counted_field({{0, "longer"}, {0, "long"}}));
  tuples[3].data[4] = '!';
  CHECK_FALSE(counted_field(tuples));
  tuples[3].data.pop_back();
  CHECK_FALSE(counted_field(tuples));
  CHECK_FALSE(counted_field(counted("ab", {}, 0xFFFE, 3)));  // begins anew
}

TEST_CASE("hosts whose tuples count up cost a few bytes each, wherever they count from", "[table]") {
  for (const Order order : {Order::big_endian, Order::little_endian}) {
    Random chance{1};
    std::vector<TupleBlock> blocks;
    for (std::uint32_t host = 0; host < 1000; ++host) {
      const auto from = static_cast<std::uint32_t>(chance.below(60'000));
      blocks.push_back({host, host * 62, Address{0x0A000001 + host},
                        counted(std::string(99, 'x'), {50, order}, from, 62)});
    }
    const std::string bytes = coded(blocks);
    CHECK(bytes.size() < 1000 * 14 + 10 * 100);  // until the order is certain, 100 bytes for a host
    CHECK(decoded(bytes) == blocks);
  }
}

TEST_CASE("of several places the number is in the likely one, if it can be", "[table]") {
  const auto tuples = counted("tuple", {2, Order::little_endian}, 7, 3);
  CHECK(counted_field(tuples)->order == Order::big_endian);  // of the byte before it
  CHECK(counted_field(tuples, CountedField{2, Order::little_endian})->order == Order::little_endian);
  CHECK(counted_field(tuples, CountedField{4, Order::big_endian})->offset == 1);
}

TEST_CASE("any tuples that are coded are the same when they are decoded", "[table]") {
  Random chance{2};
  for (int round = 0; round < 2000; ++round) {
    std::vector<TupleBlock> blocks;
    std::uint32_t process = 0;
    for (std::uint32_t host = 0; host < 1 + chance.below(4); ++host) {
      const CountedField field{chance.below(5), static_cast<Order>(chance.below(2))};
      const std::string form(field.offset + 2 + chance.below(3), static_cast<char>('a' + chance.below(2)));
      const std::uint32_t from =
          chance.below(2) == 0 ? 0xFFF0 : static_cast<std::uint32_t>(chance.below(600));
      auto tuples = counted(form, field, from, static_cast<std::uint32_t>(chance.below(20)));
      if (!tuples.empty() && chance.below(3) == 0) tuples[chance.below(tuples.size())].data += "x";
      if (!tuples.empty() && chance.below(3) == 0) tuples[chance.below(tuples.size())].data[0] ^= 1;
      if (!tuples.empty() && chance.below(3) == 0) tuples[chance.below(tuples.size())].port = 7;
      blocks.push_back({host, process, Address{host}, tuples});
      process += static_cast<std::uint32_t>(tuples.size());
    }
    const auto again = decoded(coded(blocks));
    if (again != blocks) FAIL("round " << round);
  }
}

TEST_CASE("more processes than a run of ports may have count up, too", "[table]") {
  const std::vector<TupleBlock> blocks{
      {0, 0, Address{1}, counted("abcd", {2, Order::big_endian}, 0, 50'000)}};
  const std::string bytes = coded(blocks);
  CHECK(bytes.size() < 2 * 50'000 + 100);  // of their ports, which are all 0
  CHECK(decoded(bytes) == blocks);
}

TEST_CASE("a run of tuples that leaves its bounds is no list of blocks", "[table]") {
  CHECK(decoded(block_of("abcd", 4, 2 << 1, 0xFFFC)));
  CHECK_FALSE(decoded(block_of("abcd", 4, 2 << 1, 0xFFFD)));   // the number begins anew
  CHECK_FALSE(decoded(block_of("abcd", 4, 2 << 1, 0x10000)));  // is too large
  CHECK_FALSE(decoded(block_of("abcd", 4, 2 << 1, -1)));       // or too small
  CHECK_FALSE(decoded(block_of("abcd", 4, 2 << 1, INT64_MIN)));
  CHECK_FALSE(decoded(block_of("abcd", 4, 3 << 1, 7)));  // is not within the tuple
  CHECK_FALSE(decoded(block_of("", 4, 0, 7)));
  CHECK_FALSE(decoded(block_of("a", 4, 1, 7)));
  CHECK_FALSE(decoded(block_of("abcd", 4, 2 * kMaxTuple + 2, 7)));
  CHECK_FALSE(decoded(block_of("abcd", 4, UINT64_MAX, 7)));
  CHECK_FALSE(decoded(block_of("abcd", 4, 0, 7, 1)));  // there is no such entry
  CHECK_FALSE(decoded(block_of("abcd", 4, 0, 7, UINT64_MAX)));
  CHECK_FALSE(decoded(block_of("abcd", 4097, 0, 7)));  // a short message of many processes
}

TEST_CASE("short messages do not make more of tuples that count up than a table may have", "[table]") {
  const std::string one = block_of(std::string(kMaxTuple, 'x'), 4096, 0, 0);
  const std::string block = one.substr(one.find_last_of('x') + 2);  // behind the number of blocks
  constexpr std::size_t kMost = kMaxTableData / (kMaxTuple * 4096);
  const std::string head = one.substr(0, one.find_last_of('x') + 1);
  const auto blocks = [&](std::size_t count) {
    Writer out;
    out.raw(head);
    out.varint(count);
    for (std::size_t i = 0; i < count; ++i) out.raw(block);
    return decoded(out.bytes()).has_value();
  };
  CHECK(blocks(kMost));
  CHECK_FALSE(blocks(kMost + 1));
}

}  // namespace charmtree::counted_field_test
