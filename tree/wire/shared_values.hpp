// SPDX-License-Identifier: Apache-2.0
// What processes have given for a fence, as all processes of a host read it: written once by their launcher
// into memory that none of them can change, and laid out so that a key is found without a search. A header,
// the slots of a hash table, then keys and values; numbers are in the machine's own byte order, and stand at
// any address.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace charmtree::wire {

inline constexpr std::size_t kMostKeyBytes = 255;  // of a key, at least one

/// How they travel: one behind the other.
std::string pair_of(std::string_view key, std::string_view value);
/// Of a value that a process gave under no other name: four bytes, the highest first.
std::string key_of(std::uint32_t process);
/// They are such.
bool are_pairs(std::string_view pairs);

/// Of pairs those that count: the last of each key. Those that are none stay as they are.
std::string latest_pairs(std::string pairs);

/// The bytes of pairs; of those with one key the last counts. Nothing: they are none.
std::optional<std::string> shared_pairs(std::string_view pairs);

/// Reads them where they are. What it finds is within them, whatever they are.
class SharedValues {
public:
  /// Nothing: these are no such bytes.
  static std::optional<SharedValues> in(std::string_view bytes);

  /// The value of a key; nothing: it has none.
  std::optional<std::string_view> find(std::string_view key) const;

  struct Header {
    std::uint64_t magic = 0;
    std::uint32_t slots = 0;  // a power of two, half of them empty at least
    std::uint32_t unused = 0;
  };

private:
  SharedValues(std::string_view bytes, const Header& header) : bytes_(bytes), header_(header) {}

  std::string_view bytes_;
  Header header_;
};

}  // namespace charmtree::wire
