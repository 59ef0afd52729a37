// SPDX-License-Identifier: Apache-2.0
// Nodelists: the text that names the hosts of a job and how to reach them, as Charm++'s charmrun reads it,
// with its known mistakes put right, or as other launchers do (host_file.hpp): whatever has no line that
// begins with `host NAME` or `group NAME`. Pure: somebody else reads the file. The grammar, line by line:
//
//   # comment                     a word that begins with # ends any line; indented lines are fine; CR-LF too
//   group NAME [KEY VALUE]...     begins a group; its options start from the global ones
//   host  NAMES [KEY VALUE]...    hosts of the group (host_set.hpp)
//   KEY VALUE [KEY VALUE]...      options for the hosts after it: before the first group for all
//                                 groups, else for this one
//
// Hosts before any group belong to `main`. Words are separated by blanks and tabs; '...' and "..." hold a
// word with blanks. Keys may carry any number of leading '+'. The value * sets a key back to its default.
// Keys:
//
//   login NAME | port N | shell COMMAND | ext SUFFIX | nice -20...19 | cpus N
//   slots N                       so many processes, unless it is said how many there are; each mention
//   counts pathfix FROM TO               adds a rule (see apply_pathfix) setup COMMAND                 the
//   rest of the line is the command; or quoted, then the quotes are removed env NAME=VALUE adds a variable;
//   quoted, if the value has blanks speed, passwd, debugger, xterm   have a value, which is not used
//
// A host named k times has k times its slots, that is k shares of the processes, but one launcher; options
// written on a later mention are set for the whole host. Every line is checked, also those of groups that are
// not chosen.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "charmrun/hosts/listed_text.hpp"
#include "tree/base/result.hpp"

namespace charmtree {

inline constexpr std::string_view kDefaultNodegroup = "main";
inline constexpr std::uint64_t kMaxNodelistHosts =
    1'000'000;                                     // mentions in the chosen group, patterns expanded
inline constexpr std::size_t kMaxPathFixes = 64;   // for one host
inline constexpr std::size_t kMaxVariables = 256;  // for one host
inline constexpr std::size_t kMaxFixedPath = 4096;

struct PathFix {
  std::string from;
  std::string to;
  friend auto operator<=>(const PathFix&, const PathFix&) = default;
};

/// What the nodelist says about reaching a host and running there; what it does not say is empty.
struct HostOptions {
  std::string login;
  std::vector<std::string> shell;  // words of the remote-shell command
  std::string setup;
  std::vector<PathFix> path_fixes;
  std::string ext;  // appended to the program's path
  std::optional<int> nice;
  std::uint32_t cpus = 1;
  std::uint32_t slots = 0;               // of each mention; 0: not said
  std::uint32_t port = 0;                // of ssh; 0: as ssh is configured
  std::vector<std::string> environment;  // "NAME=VALUE", in order

  friend auto operator<=>(const HostOptions&, const HostOptions&) = default;
};

struct NodelistHost {
  std::string name;
  std::uint32_t slots = 1;    // how often it was named, times its options' slots
  std::uint32_t options = 0;  // index into Nodelist::options
  friend bool operator==(const NodelistHost&, const NodelistHost&) = default;
};

/// The hosts of one group in the order of their first mention, names unique. Equal options are held once: a
/// million hosts mostly share one entry, which becomes one Profile.
struct Nodelist {
  std::vector<NodelistHost> hosts;
  std::vector<HostOptions> options;
  /// Somebody has said how many processes each is for, so that they are filled one after the other; else
  /// slots are shares, and nobody says how many processes there are.
  bool gives_slots = false;

  const HostOptions& options_of(const NodelistHost& host) const { return options[host.options]; }
};

/// The hosts of `group` in `text` (a file of another launcher has none but `main`); `file` is used in
/// messages only. Time is linear in the text and the hosts. Errors are Errc::bad_input, Phase::nodelist,
/// "FILE:LINE:COLUMN: what is wrong", the line itself and a caret under the place; or "FILE: ..." with the
/// groups that exist if `group` has no host. A result has at least one host.
Result<Nodelist> parse_nodelist(std::string_view text, std::string_view file,
                                std::string_view group = kDefaultNodegroup,
                                std::uint64_t max_hosts = kMaxNodelistHosts);

/// `path` with the rules applied as Charm++ does, the last one given first, each replacing every FROM by TO;
/// but once each and not in what it has just written, so that `pathfix /a /a/b` ends. Error if the path grows
/// beyond kMaxFixedPath.
Result<std::string> apply_pathfix(std::string_view path, std::span<const PathFix> rules);

}  // namespace charmtree
