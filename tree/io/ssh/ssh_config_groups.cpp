// SPDX-License-Identifier: Apache-2.0
#include "tree/io/ssh/ssh_config_groups.hpp"

#include <glob.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tree/io/ssh/known_hosts.hpp"

namespace charmtree::io {

namespace {

/// The words of a line as ssh splits it: a keyword (here in lower case), blanks or one '=', then words, some
/// in double quotes.
std::vector<std::string> split(std::string_view line) {
  static constexpr std::string_view kBlanks = " \t\r\f";
  const auto skip_blanks = [&] {
    line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
  };
  skip_blanks();
  if (line.empty() || line[0] == '#') return {};
  const std::string_view keyword = line.substr(0, line.find_first_of(" \t\r\f="));
  line.remove_prefix(keyword.size());
  skip_blanks();
  if (line.starts_with('=')) line.remove_prefix(1);
  std::vector<std::string> words(1, std::string(keyword));
  for (char& c : words[0]) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (skip_blanks(); !line.empty() && line[0] != '#'; skip_blanks()) {
    const bool quoted = line[0] == '"';
    if (quoted) line.remove_prefix(1);
    const std::string_view word = line.substr(0, quoted ? line.find('"') : line.find_first_of(kBlanks));
    words.emplace_back(word);
    line.remove_prefix(std::min(word.size() + (quoted ? 1 : 0), line.size()));
  }
  return words;
}

std::vector<std::string> glob_paths(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> paths;
  if (glob(pattern.c_str(), GLOB_NOCHECK, nullptr, &found) == 0)
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return paths;
}

/// Keywords of which a login with libssh2 takes no notice.
constexpr std::array<std::string_view, 13> kWithoutEffect = {"compression",
                                                             "forwardagent",
                                                             "forwardx11",
                                                             "forwardx11trusted",
                                                             "gssapiauthentication",
                                                             "gssapidelegatecredentials",
                                                             "include",
                                                             "loglevel",
                                                             "sendenv",
                                                             "serveralivecountmax",
                                                             "serveraliveinterval",
                                                             "tcpkeepalive",
                                                             "visualhostkey"};

}  // namespace

void SshConfigGroups::add_file(const std::string& path, const std::string& directory,
                               const std::string& home) {
  add(path, directory, home, 0);
}

void SshConfigGroups::add(const std::string& path, const std::string& directory, const std::string& home,
                          int depth) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return;
  std::ifstream file;
  const bool readable = depth <= kMaxIncludeDepth && ++files_ <= kMaxConfigFiles &&
                        std::filesystem::is_regular_file(path, error) &&
                        std::filesystem::file_size(path, error) <= kMaxConfigBytes;
  if (readable) file.open(path);
  plain_ = plain_ && file.is_open();
  unread_ = unread_ || !file.is_open();
  std::string line;
  while (std::getline(file, line)) add_line(line, directory, home, depth);
}

void SshConfigGroups::add_line(std::string_view line, const std::string& directory, const std::string& home,
                               int depth) {
  const std::vector<std::string> words = split(line);
  if (words.empty()) return;
  judge(words);
  mentioned_.insert(words[0]);
  if (words.size() > 1 && words[1].starts_with('^')) preferred_.emplace(words[0], words[1].substr(1));
  if (words[0] == "host") {
    std::string list;
    for (std::size_t i = 1; i < words.size(); ++i) list += words[i] + ",";
    patterns_.push_back(std::move(list));
  } else if (words[0] == "match") {
    add_match(words);
  } else if (words[0] == "hostname") {
    has_host_name_ = true;
  } else if (words[0] == "canonicalizehostname") {
    each_name_ |= words.size() < 2 || words[1] != "no";
  } else if (words[0] == "include") {
    for (std::size_t i = 1; i < words.size(); ++i) {
      std::string path = words[i];
      if (path.starts_with("~/")) {
        path.replace(0, 1, home);
      } else if (!path.starts_with("/")) {
        path.insert(0, directory + "/");
      }
      for (const std::string& file : glob_paths(path)) add(file, directory, home, depth + 1);
    }
  }
}

void SshConfigGroups::judge(const std::vector<std::string>& words) {
  const std::string_view keyword = words[0], value = words.size() == 2 ? words[1] : std::string_view();
  if (keyword == "host") {
    plain_ = plain_ && value == "*";
  } else if (keyword == "hashknownhosts") {
    plain_ = plain_ && (value == "yes" || value == "no");
    if (!hash_known_hosts_) hash_known_hosts_ = value == "yes";
  } else {
    plain_ =
        plain_ && std::find(kWithoutEffect.begin(), kWithoutEffect.end(), keyword) != kWithoutEffect.end();
  }
}

void SshConfigGroups::add_match(const std::vector<std::string>& words) {
  if (words.size() == 2 && words[1] == "all") return;
  if (words.size() == 3 && (words[1] == "host" || words[1] == "originalhost")) {
    match_host_ |= words[1] == "host";
    patterns_.push_back(words[2]);
    return;
  }
  each_name_ = true;
}

bool SshConfigGroups::prefer(const std::string& keyword, std::string_view value) const {
  const auto [begin, end] = preferred_.equal_range(keyword);
  return unread_ || std::any_of(begin, end,
                                [&](const auto& entry) { return matches_pattern_list(value, entry.second); });
}

std::string SshConfigGroups::key(std::string_view name) const {
  if (each_name_ || (match_host_ && has_host_name_)) return std::string(name);
  std::string bits;
  bits.reserve(patterns_.size());
  for (const std::string& pattern : patterns_)
    bits.push_back(matches_pattern_list(name, pattern) ? '1' : '0');
  return bits;
}

}  // namespace charmtree::io
