// SPDX-License-Identifier: Apache-2.0
// Who may ask something of the job: hashes by which stock CCS clients show that they have a key, and the
// guests that have done so. Hashes cover a key, a salt and the first 16 bytes of a request (its length, its
// PE, 8 bytes of the handler): not the rest of the name, and not the data. Pure: what is random comes from a
// secret. (Charm++: ccs-auth.C.)
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "ccs/keys.hpp"
#include "tree/overlay/keyed_hash.hpp"

namespace charmtree::ccs {

inline constexpr std::size_t kHash = 20;  // bytes of a SHA-1
/// `head`: the first 16 bytes of a request, or nothing.
std::string stock_hash(const Key& key, std::uint32_t salt, std::string_view head = {});

class Guard {
public:
  /// Guests; of more the oldest have to show their key again.
  static constexpr std::size_t kMaxGuests = 16384;
  using Secret = std::array<std::uint8_t, 32>;
  struct Guest {
    std::uint8_t level = 0;
    Key key{};
    std::uint32_t salt = 0;  // of its next request
  };

  Guard(Keys keys, const Secret& secret) : keys_(std::move(keys)), secret_(secret) {}

  const Keys& keys() const { return keys_; }
  /// Nobody can foresee it.
  std::uint32_t draw();
  /// The key of this level that made `hash` of `salt`.
  std::optional<Key> key_of(std::uint8_t level, std::uint32_t salt, std::string_view hash) const;
  /// Its number, and what it is told.
  std::pair<std::uint32_t, Guest> admit(std::uint8_t level, const Key& key);
  /// The key of the guest that made `hash` of its salt and `head`; the same hash never works twice.
  std::optional<Key> recognize(std::uint32_t guest, std::uint8_t level, std::string_view head,
                               std::string_view hash);

private:
  Keys keys_;
  Secret secret_;
  std::uint64_t drawn_ = 0;
  std::map<std::uint32_t, Guest> guests_;
  std::deque<std::uint32_t> oldest_;
};

}  // namespace charmtree::ccs
