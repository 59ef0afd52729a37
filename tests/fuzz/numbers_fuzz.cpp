// SPDX-License-Identifier: Apache-2.0
// Any bytes as the numbers of another process's queue pairs: the first two say how many there are to be. What
// is taken has so many numbers, one for each other process and each its own, and is coded as it came.
#include <cstdint>
#include <optional>
#include <string_view>

#include "client-lib/ibverbs/numbers.hpp"
#include "tests/fuzz/script.hpp"

namespace {
using charmtree::fuzz::require;
using charmtree::ibverbs::kMostNumber;
using charmtree::ibverbs::Numbers;
namespace wire = charmtree::wire;
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::uint32_t count = data[0] | static_cast<std::uint32_t>(data[1]) << 8U;
  const std::string_view bytes{reinterpret_cast<const char*>(data) + 2, size - 2};
  wire::Reader in{bytes};
  const Numbers numbers = Numbers::decode(in, count);
  if (!in.finished()) return 0;
  require(numbers.count() == count);
  wire::Writer out;
  numbers.encode(out);
  require(out.bytes().size() <= bytes.size());  // a varint may be written longer than need be
  wire::Reader again{out.bytes()};
  require(Numbers::decode(again, count).ranges() == numbers.ranges() && again.finished());
  const std::uint32_t owner = count / 3;
  std::optional<std::uint32_t> before;
  for (std::uint32_t rank = 0; rank <= count; ++rank) {
    if (rank == owner) continue;
    const auto number = numbers.number_for(rank, owner);
    require(number && *number <= kMostNumber && (!before || *before < *number));
    before = number;
  }
  require(!numbers.number_for(count + 1, owner));
  return 0;
}
