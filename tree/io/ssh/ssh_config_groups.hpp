// SPDX-License-Identifier: Apache-2.0
// Which Host lines of the ssh_config files match a name: names that the same lines match get the same answers
// from ssh. Nothing else of the files is understood here; where that is not enough to tell names apart, every
// name is its own group.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace charmtree::io {

inline constexpr int kMaxIncludeDepth = 16;  // as ssh's
inline constexpr std::size_t kMaxConfigBytes = 4U << 20;
inline constexpr std::size_t kMaxConfigFiles = 1024;

class SshConfigGroups {
public:
  /// Reads a file with everything it includes; a missing one is empty. Relative includes are looked for in
  /// `directory`.
  void add_file(const std::string& path, const std::string& directory, const std::string& home);

  /// Equal for two names exactly if the files do not tell them apart.
  std::string key(std::string_view name) const;

  /// True if the files hold nothing, for any name, that matters to a login with libssh2 (as those that
  /// distributions install): ssh's answers are its defaults, and `hash_known_hosts`.
  bool plain() const { return plain_; }
  /// True if an option (in lower case) may be in the files, for whatever name.
  bool mention(const std::string& keyword) const { return unread_ || mentioned_.contains(keyword); }
  /// True if it may be there with a list of what is to come first ("^...") that this value matches.
  bool prefer(const std::string& keyword, std::string_view value) const;
  bool hash_known_hosts() const { return hash_known_hosts_.value_or(false); }

private:
  void add(const std::string& path, const std::string& directory, const std::string& home, int depth);
  void add_line(std::string_view line, const std::string& directory, const std::string& home, int depth);
  void add_match(const std::vector<std::string>& words);
  void judge(const std::vector<std::string>& words);

  std::vector<std::string> patterns_;  // one comma list for each Host line
  std::size_t files_ = 0;
  bool plain_ = true;
  bool unread_ = false;                                // there is a file that could not be read
  std::set<std::string> mentioned_;                    // keywords
  std::multimap<std::string, std::string> preferred_;  // by keyword: comma lists
  std::optional<bool> hash_known_hosts_;               // what ssh read first counts
  bool each_name_ = false;                             // a Match that depends on more than the name
  bool match_host_ = false;                            // matches what HostName made of the name ...
  bool has_host_name_ = false;                         // ... which matters if there is a HostName line
};

}  // namespace charmtree::io
