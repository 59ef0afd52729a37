// SPDX-License-Identifier: Apache-2.0
#include "ccs/guard.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>

#include "tree/wire/big_endian.hpp"

namespace charmtree::ccs {

namespace {

bool same(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

std::string stock_hash(const Key& key, std::uint32_t salt, std::string_view head) {
  constexpr std::size_t kHead = 16, kZeros = 16;
  std::string text{key.begin(), key.end()};
  wire::write_u32(text, salt);
  text.append(head.substr(0, kHead));
  text.resize(key.size() + sizeof salt + kHead + kZeros, '\0');
  std::string hash(kHash, '\0');
  ::SHA1(reinterpret_cast<const unsigned char*>(text.data()), text.size(),
         reinterpret_cast<unsigned char*>(hash.data()));
  return hash;
}

std::uint32_t Guard::draw() {
  std::string counter;
  wire::write_u32(counter, static_cast<std::uint32_t>(drawn_ >> 32));
  wire::write_u32(counter, static_cast<std::uint32_t>(drawn_++));
  std::array<unsigned char, SHA256_DIGEST_LENGTH> bytes{};
  unsigned size = bytes.size();
  ::HMAC(::EVP_sha256(), secret_.data(), secret_.size(),
         reinterpret_cast<const unsigned char*>(counter.data()), counter.size(), bytes.data(), &size);
  return wire::read_u32(std::string_view{reinterpret_cast<const char*>(bytes.data()), bytes.size()}, 0);
}

std::optional<Key> Guard::key_of(std::uint8_t level, std::uint32_t salt, std::string_view hash) const {
  for (const Key& key : keys_.of(level)) {
    if (same(stock_hash(key, salt), hash)) return key;
  }
  return {};
}

std::pair<std::uint32_t, Guard::Guest> Guard::admit(std::uint8_t level, const Key& key) {
  std::uint32_t number = draw();
  while (guests_.contains(number)) number = draw();
  if (guests_.size() >= kMaxGuests) {
    guests_.erase(oldest_.front());
    oldest_.pop_front();
  }
  oldest_.push_back(number);
  return {number, guests_[number] = {level, key, draw()}};
}

std::optional<Key> Guard::recognize(std::uint32_t guest, std::uint8_t level, std::string_view head,
                                    std::string_view hash) {
  const auto found = guests_.find(guest);
  if (found == guests_.end() || found->second.level != level) return {};
  Guest& known = found->second;
  if (!same(stock_hash(known.key, known.salt, head), hash)) return {};
  ++known.salt;
  return known.key;
}

}  // namespace charmtree::ccs
