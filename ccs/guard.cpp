// SPDX-License-Identifier: Apache-2.0
#include "ccs/guard.hpp"

#include <openssl/sha.h>

#include "tree/wire/big_endian.hpp"

namespace charmtree::ccs {

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
  wire::write_u64(counter, drawn_++);
  const std::string secret{secret_.begin(), secret_.end()};
  return wire::read_u32(keyed_hash(secret, counter), 0);
}

std::optional<Key> Guard::key_of(std::uint8_t level, std::uint32_t salt, std::string_view hash) const {
  for (const Key& key : keys_.of(level)) {
    if (same_secret(stock_hash(key, salt), hash)) return key;
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
  if (!same_secret(stock_hash(known.key, known.salt, head), hash)) return {};
  ++known.salt;
  return known.key;
}

}  // namespace charmtree::ccs
