// SPDX-License-Identifier: Apache-2.0
// Any bytes as a stream of frames and as a list of tuple blocks. The first byte is the size of the pieces in
// which the stream comes.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/script.hpp"
#include "tree/wire/frame.hpp"
#include "tree/wire/node_table.hpp"

namespace {

using namespace charmtree;
using namespace charmtree::wire;

constexpr std::size_t kLimit = 1024;

using charmtree::fuzz::require;

struct Cut {
  std::vector<std::string> frames;  // made again from what was decoded
  bool broken = false;
};

Cut cut(std::string_view stream, std::size_t piece) {
  FrameDecoder decoder{kLimit};
  Cut found;
  for (std::size_t at = 0; at < stream.size() && !found.broken; at += piece) {
    decoder.append(stream.substr(at, piece));
    for (;;) {
      const auto frame = decoder.next();
      found.broken = !frame.ok();
      if (found.broken || !frame->has_value()) break;
      require((*frame)->payload.size() <= kLimit);
      found.frames.push_back(make_frame((*frame)->type, (*frame)->payload));
    }
  }
  return found;
}

// Frames are the same however the stream comes, and are its beginning, byte for byte.
void check_frames(std::string_view stream, std::size_t piece) {
  const Cut whole = cut(stream, stream.size() + 1), pieces = cut(stream, piece);
  require(whole.frames == pieces.frames && whole.broken == pieces.broken);
  std::string again;
  for (const std::string& frame : whole.frames) again += frame;
  require(stream.starts_with(again));
}

// What is accepted can be sent on and arrives unchanged.
void check_blocks(std::string_view bytes) {
  Reader in{bytes};
  const std::vector<TupleBlock> blocks = decode_blocks(in);
  if (!in.ok()) return;
  std::size_t tuples = 0;
  for (const TupleBlock& block : blocks) tuples += block.tuples.size();
  require(tuples <= bytes.size());  // memory is in proportion to what was received
  Writer out;
  encode(out, blocks);
  Reader again{out.bytes()};
  require(decode_blocks(again) == blocks && again.finished());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view rest{reinterpret_cast<const char*>(data) + 1, size - 1};
  check_frames(rest, 1U + data[0]);
  check_blocks(rest);
  return 0;
}
