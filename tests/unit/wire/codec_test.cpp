// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "tree/base/random.hpp"
#include "tree/wire/codec.hpp"
#include "tree/wire/frame.hpp"
#include "tree/wire/node_table.hpp"

namespace charmtree::codec_test {

using namespace charmtree::wire;

TEST_CASE("integers of every size survive the codec", "[codec]") {
  Writer out;
  for (unsigned shift = 0; shift < 64; ++shift) {
    out.varint(1ULL << shift);
    out.svarint(-static_cast<std::int64_t>(1ULL << (shift % 63)));
  }
  out.varint(UINT64_MAX);
  out.svarint(INT64_MIN);
  Reader in{out.bytes()};
  for (unsigned shift = 0; shift < 64; ++shift) {
    CHECK(in.varint() == 1ULL << shift);
    CHECK(in.svarint() == -static_cast<std::int64_t>(1ULL << (shift % 63)));
  }
  CHECK(in.varint() == UINT64_MAX);
  CHECK(in.svarint() == INT64_MIN);
  CHECK(in.finished());
}

TEST_CASE("a failed read poisons the reader", "[codec]") {
  Reader truncated{
      std::string_view{"\x05"
                       "abc"}};
  CHECK(truncated.string().empty());
  CHECK_FALSE(truncated.ok());
  CHECK(truncated.varint() == 0);
  CHECK_FALSE(truncated.finished());

  const std::string endless(11, '\xFF');
  Reader overlong{endless};
  overlong.varint();
  CHECK_FALSE(overlong.ok());

  const std::string many{"\xFF\xFF\xFF\x7F"};
  Reader greedy{many};
  CHECK(greedy.count() == 0);  // more elements than bytes: no allocation is made
  CHECK_FALSE(greedy.ok());
}

TEST_CASE("frames survive any cut of the stream", "[frame]") {
  const std::string stream =
      make_frame(1, "hello") + make_frame(2, "") + make_frame(255, std::string(70'000, 'x'));
  for (std::size_t piece : {1UL, 2UL, 5UL, 7UL, 4096UL, stream.size()}) {
    FrameDecoder decoder{kMaxLinkFrame};
    std::vector<std::pair<int, std::size_t>> seen;
    for (std::size_t at = 0; at < stream.size(); at += piece) {
      decoder.append(std::string_view{stream}.substr(at, piece));
      for (;;) {
        auto frame = decoder.next();
        REQUIRE(frame.ok());
        if (!frame->has_value()) break;
        seen.emplace_back((*frame)->type, (*frame)->payload.size());
      }
    }
    CHECK(seen == std::vector<std::pair<int, std::size_t>>{{1, 5}, {2, 0}, {255, 70'000}});
    CHECK(decoder.buffered() == 0);
  }
}

TEST_CASE("a frame that is too long or of another version is refused before it is buffered", "[frame]") {
  FrameDecoder small{16};
  small.append(make_frame(1, std::string(17, 'x')).substr(0, 4));
  CHECK_FALSE(small.next().ok());
  FrameDecoder other{16};
  std::string frame = make_frame(1, "x");
  frame[4] = 9;
  other.append(frame);
  REQUIRE_FALSE(other.next().ok());
  CHECK(other.next().error().code == Errc::bad_peer);
}

TEST_CASE("a node table is compact and survives the codec", "[table]") {
  Random random{7};
  std::vector<TupleBlock> blocks;
  std::uint32_t process = 0;
  for (std::uint32_t host = 0; host < 500; ++host) {
    TupleBlock block{host, process, 0xC6120001U + host, {}};
    for (int i = 0; i < 16; ++i)
      block.tuples.push_back({static_cast<std::uint16_t>(32768 + random.below(28000)), {}});
    process += 16;
    blocks.push_back(std::move(block));
  }
  Writer out;
  encode(out, blocks);
  CHECK(out.bytes().size() < 500 * (4 + 3 * 16));
  Reader in{out.bytes()};
  CHECK(decode_blocks(in) == blocks);
  CHECK(in.finished());
  CHECK(is_complete(blocks, process));
  CHECK_FALSE(is_complete(blocks, process + 1));
  blocks.erase(blocks.begin() + 3);
  CHECK_FALSE(is_complete(blocks, process));
}

TEST_CASE("opaque tuples share a dictionary", "[table]") {
  std::vector<TupleBlock> blocks{{0, 0, 1, {{0, "same"}, {0, "same"}, {0, "other"}}},
                                 {2, 3, 5, {{0, "same"}}}};
  Writer out;
  encode(out, blocks);
  Reader in{out.bytes()};
  CHECK(decode_blocks(in) == blocks);
}

TEST_CASE("a small message cannot ask for more opaque tuples than fit into memory", "[table]") {
  const std::string tuple(kMaxTuple, 'x');
  std::vector<TupleBlock> blocks{{0, 0, 1, {}}};
  blocks[0].tuples.assign(kMaxTableData / kMaxTuple, {0, tuple});
  Writer most;
  encode(most, blocks);
  Reader in{most.bytes()};
  CHECK(decode_blocks(in).size() == 1);
  blocks[0].tuples.push_back({0, tuple});
  Writer more;
  encode(more, blocks);
  CHECK(more.bytes().size() < 200'000);
  Reader beyond{more.bytes()};
  CHECK(decode_blocks(beyond).empty());
  CHECK_FALSE(beyond.ok());
}

}  // namespace charmtree::codec_test
