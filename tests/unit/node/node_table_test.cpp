// SPDX-License-Identifier: Apache-2.0
// The coded node table: every form of its columns, what it costs, and what is refused.
#include "tree/wire/node_table.hpp"

#include <catch2/catch.hpp>

#include "tree/base/random.hpp"

namespace charmtree::node_table_test {

using namespace charmtree::wire;

namespace {

std::string coded(const std::vector<TupleBlock>& blocks) {
  Writer out;
  encode(out, blocks);
  return out.take();
}

/// So many hosts with so many processes each; `tuple` gives each its tuple.
template <class Make>
std::vector<TupleBlock> blocks_of(std::uint32_t hosts, std::uint32_t processes, Make tuple) {
  std::vector<TupleBlock> blocks;
  for (std::uint32_t host = 0; host < hosts; ++host) {
    TupleBlock block{host, host * processes, 0x0A000001 + host, {}};
    for (std::uint32_t i = 0; i < processes; ++i) block.tuples.push_back(tuple(i));
    blocks.push_back(std::move(block));
  }
  return blocks;
}

double bytes_per_process(const std::vector<TupleBlock>& blocks) {
  const std::string bytes = coded(blocks);
  Reader in{bytes};
  REQUIRE(decode_blocks(in) == blocks);
  REQUIRE(in.finished());
  const TupleBlock& last = blocks.back();
  return static_cast<double>(bytes.size()) / (last.first_process + static_cast<double>(last.tuples.size()));
}

}  // namespace

TEST_CASE("a process costs two bytes with random ports and next to none with ports in a row", "[table]") {
  Random random{1};
  const auto any = [&] { return static_cast<std::uint16_t>(32768 + random.below(28232)); };

  CHECK(bytes_per_process(blocks_of(1000, 64, [&](auto) { return Tuple{any(), {}}; })) < 2.2);
  CHECK(bytes_per_process(blocks_of(1000, 64, [](auto i) {
          return Tuple{static_cast<std::uint16_t>(4000 + i), {}};
        })) < 0.25);
  CHECK(bytes_per_process(blocks_of(1000, 64, [](auto) { return Tuple{0, "the same everywhere"}; })) < 0.25);
  CHECK(bytes_per_process(blocks_of(1000, 64, [&](auto) {  // a native program's port
          const std::uint16_t port = any();
          return Tuple{0, {static_cast<char>(port >> 8), static_cast<char>(port & 0xFF)}};
        })) < 2.2);
}

TEST_CASE("blocks of every form survive the wire", "[table]") {
  Random random{2};
  for (int round = 0; round < 200; ++round) {
    const std::uint64_t ports = random.below(3), tuples = random.below(5), length = random.below(6);
    const auto blocks = blocks_of(1 + round % 5, static_cast<std::uint32_t>(random.below(9)), [&](auto i) {
      Tuple tuple;
      if (ports != 0) tuple.port = static_cast<std::uint16_t>(ports == 1 ? 65535 - 3 * i : random.next());
      if (tuples == 1) tuple.data = "same";
      if (tuples == 2) tuple.data = std::string(length, static_cast<char>('a' + i));
      if (tuples == 3) tuple.data = std::string(i, 'x');
      if (tuples == 4) tuple.data = i % 2 == 0 ? "a long one" : "another";
      return tuple;
    });
    const std::string bytes = coded(blocks);
    Reader in{bytes};
    REQUIRE(decode_blocks(in) == blocks);
    REQUIRE(in.finished());
  }
}

TEST_CASE("addresses of either family survive the wire, and next to each other cost little", "[table]") {
  const wire::Address first = *wire::parse_address("2001:db8::ffff:ffff:ffff:ffff");
  std::vector<TupleBlock> blocks;
  for (const char* address :
       {"2001:db8::ffff:ffff:ffff:ffff", "192.0.2.1", "::1", "ffff:ffff:ffff:ffff::", "192.0.2.2"})
    blocks.push_back({static_cast<std::uint32_t>(blocks.size()), 0, *wire::parse_address(address), {}});
  blocks.push_back({9, 0, {}, {}});
  const std::string bytes = coded(blocks);
  Reader in{bytes};
  CHECK(decode_blocks(in) == blocks);
  CHECK(in.finished());
  const auto coded_hosts = [&](std::uint32_t hosts) {
    std::vector<TupleBlock> all;
    for (std::uint32_t host = 0; host < hosts; ++host) {
      all.push_back({host, 0, first, {}});
      all.back().address.low -= hosts - host;
    }
    return coded(all).size();
  };
  CHECK(coded_hosts(1001) < 6 * 1000);
}

TEST_CASE("a host of very many processes survives the wire", "[table]") {
  CHECK(bytes_per_process(blocks_of(1, 100'000, [](auto) { return Tuple{}; })) < 2.2);
}

TEST_CASE("a short message cannot ask for a large table", "[table]") {
  const auto refuses = [](std::uint64_t processes, std::uint64_t form) {
    Writer out;
    for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{1}}) out.varint(value);
    for (int difference = 0; difference < 4; ++difference) out.svarint(0);
    out.varint(processes);
    out.varint(form);
    for (int i = 0; i < 4; ++i) out.u8(0);
    Reader in{out.bytes()};
    const bool empty = decode_blocks(in).empty();
    return empty && !in.ok();
  };
  CHECK_FALSE(refuses(4096, 2));     // ports in a row, empty tuples
  CHECK(refuses(4097, 2));           // more than a row may have
  CHECK(refuses(100, 4 | 2));        // ports one by one that are not there
  CHECK(refuses(2, 3));              // no such form
  CHECK(refuses(2, 2 | (5U << 3)));  // tuples of a length that the dictionary is for
  CHECK(refuses(2, 0));              // an index beyond the empty dictionary
}

TEST_CASE("a short message cannot expand into tuples without end", "[table]") {
  Writer out;
  out.varint(1);
  out.string(std::string(kMaxTuple, 'x'));
  const std::uint64_t blocks = kMaxTableData / kMaxTuple / 4096 + 1;
  out.varint(blocks);
  for (std::uint64_t i = 0; i < blocks; ++i) {
    for (int difference = 0; difference < 4; ++difference) out.svarint(0);
    out.varint(4096);
    out.varint(0);
    for (int difference = 0; difference < 4; ++difference) out.svarint(0);
  }
  Reader in{out.bytes()};
  CHECK(decode_blocks(in).empty());
  CHECK_FALSE(in.ok());
}

TEST_CASE("tuples of processes that were started again take the places of the old ones", "[table]") {
  const auto table = blocks_of(3, 3, [](auto i) {
    return Tuple{0, std::string(1, static_cast<char>('a' + i))};
  });
  auto blocks = table;
  REQUIRE(renew(blocks, {1, 4, 0x0A000002, {{0, "B"}}}));
  REQUIRE(blocks.size() == 3);
  CHECK(blocks[1].tuples == std::vector<Tuple>{{0, "a"}, {0, "B"}, {0, "c"}});

  // On another host: first, last, between others, and all of a host.
  for (const std::uint32_t process : {3U, 4U, 5U, 0U, 8U}) {
    CAPTURE(process);
    blocks = table;
    REQUIRE(renew(blocks, {7, process, 0x0A000008, {{0, "new"}}}));
    CHECK(is_complete(blocks, 9));
    std::uint32_t next = 0;
    for (const TupleBlock& block : blocks) {
      for (const Tuple& tuple : block.tuples) {
        const bool moved = next == process;
        CHECK(block.host == (moved ? 7 : next / 3));
        CHECK(tuple.data == (moved ? "new" : std::string(1, static_cast<char>('a' + next % 3))));
        ++next;
      }
    }
    CHECK(bytes_per_process(blocks) > 0);
  }
  blocks = table;
  REQUIRE(renew(blocks, {2, 3, 0x0A000003, {{0, "x"}, {0, "y"}, {0, "z"}}}));
  REQUIRE(renew(blocks, {1, 4, 0x0A000002, {{0, "back"}}}));
  CHECK(is_complete(blocks, 9));
  CHECK_FALSE(renew(blocks, {0, 9, 0x0A000001, {{0, "x"}}}));
  CHECK_FALSE(renew(blocks, {0, 8, 0x0A000001, {{0, "x"}, {0, "y"}}}));
  std::vector<TupleBlock> none;
  CHECK_FALSE(renew(none, {0, 0, 0, {{0, "x"}}}));
}

}  // namespace charmtree::node_table_test
