// SPDX-License-Identifier: Apache-2.0
#include "tree/wire/codec.hpp"

namespace charmtree::wire {

void Writer::varint(std::uint64_t value) {
  while (value >= 0x80) {
    bytes_.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  bytes_.push_back(static_cast<char>(value));
}

void Writer::svarint(std::int64_t value) {
  varint((static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63));
}

void Writer::string(std::string_view value) {
  constexpr std::size_t kRest = 64;  // a long text is not moved for the few numbers behind it
  varint(value.size());
  bytes_.reserve(bytes_.size() + value.size() + kRest);
  bytes_.append(value);
}

void Reader::poison() {
  ok_ = false;
  rest_ = {};
}

std::uint8_t Reader::u8() {
  if (rest_.empty()) {
    poison();
    return 0;
  }
  const auto value = static_cast<std::uint8_t>(rest_.front());
  rest_.remove_prefix(1);
  return value;
}

std::uint64_t Reader::varint() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const std::uint8_t byte = u8();
    if (!ok_) return 0;
    if (shift == 63 && byte > 1) break;
    value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if ((byte & 0x80) == 0) return value;
  }
  poison();
  return 0;
}

std::int64_t Reader::svarint() {
  const std::uint64_t value = varint();
  return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
}

std::uint64_t Reader::bounded(std::uint64_t limit) {
  const std::uint64_t value = varint();
  if (value <= limit) return value;
  poison();
  return 0;
}

std::int64_t Reader::sbounded(std::int64_t least, std::int64_t most) {
  const std::int64_t value = svarint();
  if (value >= least && value <= most) return value;
  poison();
  return 0;
}

std::string Reader::string(std::size_t limit) {
  const std::uint64_t size = varint();
  if (size > limit) poison();
  return std::string{raw(size)};
}

std::string_view Reader::raw(std::size_t size) {
  if (size > rest_.size() || !ok_) {
    poison();
    return {};
  }
  const std::string_view value = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return value;
}

std::size_t Reader::count(std::size_t limit) {
  const std::uint64_t value = varint();
  if (value <= limit && value <= rest_.size()) return value;
  poison();
  return 0;
}

std::string_view Reader::rest() {
  const std::string_view all = rest_;
  rest_ = {};
  return all;
}

}  // namespace charmtree::wire
