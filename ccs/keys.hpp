// SPDX-License-Identifier: Apache-2.0
// The keys that CCS clients show that they have (++server-auth FILE), by security level. A line of the file
// is a level, 0 to 254, and a key: pairs of characters, at most 16, or `OTP`, for which a key is made and
// announced. All other lines are comments. (Charm++: CcsSecMan_default in ccs-server.C.)
//
// Charm++'s C clients read each pair as a decimal number and stop at the first that is none; its Java clients
// read hexadecimal. A text that they read differently is two keys, and either is accepted. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tree/base/result.hpp"

namespace charmtree::ccs {

using Key = std::array<std::uint8_t, 16>;

/// The readings of each level's key.
class Keys {
public:
  void set(std::uint8_t level, std::vector<Key> readings) { levels_[level] = std::move(readings); }
  /// Empty: nobody gets in at this level.
  const std::vector<Key>& of(std::uint8_t level) const;
  /// The lowest level with a key.
  std::optional<std::uint8_t> lowest() const;
  /// Who has no key is served, too.
  bool optional() const { return !levels_.contains(0); }

private:
  std::map<std::uint8_t, std::vector<Key>> levels_;
};

struct KeyFile {
  Keys keys;
  std::string announced;             // lines about keys that were made
  std::vector<std::string> remarks;  // on keys that Charm++'s C clients cannot use
};

/// A reading with fewer bytes that are not 0 is refused: who guesses has too few to try.
inline constexpr int kLeastKeyBytes = 8;

/// What a key file says. `weak`: keys that are easily guessed are keys, too. `make_text`: 32 random decimal
/// digits, for `OTP`. Error bad_input: the line of `name` with a key that cannot be used.
Result<KeyFile> read_keys(std::string_view text, const std::string& name, bool weak,
                          const std::function<std::string()>& make_text);

}  // namespace charmtree::ccs
