// SPDX-License-Identifier: Apache-2.0
#include "tree/io/ssh_wire.hpp"

#include <array>

#include <openssl/evp.h>
#include <openssl/sha.h>

namespace charmtree::io {

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

std::optional<std::string> decode_base64(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0) return std::nullopt;
  for (const char c : text) {
    if (c <= ' ') return std::nullopt;  // EVP_DecodeBlock would skip it
  }
  std::string out(text.size() / 4 * 3, '\0');
  const int length =
      EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                      reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  if (length < 0) return std::nullopt;
  std::size_t padding = 0;  // EVP_DecodeBlock counts it as zero bytes
  while (padding < 2 && text[text.size() - 1 - padding] == '=') ++padding;
  if (text.find('=') < text.size() - padding) return std::nullopt;
  out.resize(static_cast<std::size_t>(length) - padding);
  return out;
}

std::string encode_base64(std::string_view bytes) {
  std::string out((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int length =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  out.resize(static_cast<std::size_t>(length));
  return out;
}

std::string fingerprint(std::string_view blob) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(blob.data()), blob.size(), digest.data());
  std::string text = encode_base64({reinterpret_cast<const char*>(digest.data()), digest.size()});
  while (!text.empty() && text.back() == '=') text.pop_back();
  return "SHA256:" + text;
}

}  // namespace charmtree::io
