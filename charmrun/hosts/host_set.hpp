// SPDX-License-Identifier: Apache-2.0
// Several hosts in one word, wherever a host is named:
//
//   TERM [OPERATOR TERM]...     from left to right: `,` adds, `!` takes away, `&` keeps what both have
//   TERM: [USER@]NAME[:SLOTS] | [USER@][NAME]:PORT | @GROUP
//
// NAME may be a pattern (host_pattern.hpp). Brackets around a name are written as such: `[::1]:22`,
// `[n1]:22`. A name with two colons or more is an address of IPv6. What a group has in common with what
// stands before it is there once; a name that is written again gets further slots. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "charmrun/hosts/host_pattern.hpp"
#include "tree/base/result.hpp"

namespace charmtree {

/// A number behind a `:` that is larger would rather be meant as a port.
inline constexpr std::uint32_t kMostSlotsBehindColon = 1023;
inline constexpr std::uint32_t kMaxSshPort = 65'535;

/// One host as it was named.
struct NamedHost {
  std::string name, login;  // login: empty: not said
  std::uint32_t slots = 0;  // 0: not said
  std::uint32_t port = 0;   // 0: not said
  friend bool operator==(const NamedHost&, const NamedHost&) = default;
};

class HostSet {
public:
  /// The hosts of a group into `out`, or what is wrong with it.
  using FindGroup =
      std::function<std::optional<Mistake>(std::string_view group, std::vector<NamedHost>& out)>;

  /// Reads `text` into `out`.
  static std::optional<Mistake> parse(std::string_view text, HostSet& out);

  /// How many names it has at most, but for those of groups.
  std::uint64_t count() const { return count_; }

  /// Each host once, in the order of first mention. Without `find_group`, a group is a mistake.
  std::optional<Mistake> expand(std::vector<NamedHost>& out, const FindGroup& find_group = {}) const;

private:
  struct Term {
    char how = ',';
    std::size_t offset = 0;
    std::string group;  // empty: it is `host`, named by the pattern
    HostPattern pattern;
    NamedHost host;
  };
  static std::optional<Mistake> parse_term(std::string_view text, Term& term);

  std::vector<Term> terms_;
  std::uint64_t count_ = 0;
};

/// The hosts that `text` names, at once. `source` is where it is from: errors as of its first line
/// (listed_text.hpp).
Result<std::vector<NamedHost>> read_hosts(std::string_view source, std::string_view text,
                                          const HostSet::FindGroup& find_group = {});

}  // namespace charmtree
