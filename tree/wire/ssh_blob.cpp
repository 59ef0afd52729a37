// SPDX-License-Identifier: Apache-2.0
#include "tree/wire/ssh_blob.hpp"

namespace charmtree::wire {

std::optional<std::uint8_t> BlobReader::byte() {
  if (rest_.empty()) return std::nullopt;
  const auto value = static_cast<std::uint8_t>(rest_[0]);
  rest_.remove_prefix(1);
  return value;
}

std::optional<std::uint32_t> BlobReader::u32() {
  if (rest_.size() < 4) {
    rest_ = {};
    return std::nullopt;
  }
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i)
    value = value << 8 | static_cast<std::uint8_t>(rest_[static_cast<std::size_t>(i)]);
  rest_.remove_prefix(4);
  return value;
}

std::optional<std::string_view> BlobReader::string() {
  const auto length = u32();
  if (!length || rest_.size() < *length) {
    rest_ = {};
    return std::nullopt;
  }
  const std::string_view value = rest_.substr(0, *length);
  rest_.remove_prefix(*length);
  return value;
}

void append_u32(std::string& out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(value >> shift & 0xFF));
}

void append_string(std::string& out, std::string_view bytes) {
  append_u32(out, static_cast<std::uint32_t>(bytes.size()));
  out.append(bytes);
}

std::string key_type(std::string_view blob) {
  static constexpr std::size_t kLongestType = 64;
  const auto type = BlobReader(blob).string();
  if (!type || type->empty() || type->size() > kLongestType) return {};
  for (const char c : *type) {
    if (c <= ' ' || c > '~') return {};
  }
  return std::string(*type);
}

std::string_view key_type_of_algorithm(std::string_view algorithm) {
  return algorithm == "rsa-sha2-256" || algorithm == "rsa-sha2-512" ? "ssh-rsa" : algorithm;
}

}  // namespace charmtree::wire
