// SPDX-License-Identifier: Apache-2.0
// One pass over the lines. Options in force are indices into the table of distinct options, so that a plain
// `host` line costs one look-up of its name.
#include "charmrun/plan/nodelist.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "charmrun/plan/host_pattern.hpp"
#include "charmrun/plan/nodelist_line.hpp"
#include "tree/wire/words.hpp"

namespace charmtree {
namespace {

constexpr std::size_t kShownBefore = 60;  // bytes of a long line shown around the mistake
constexpr std::size_t kShownAfter = 40;
constexpr std::size_t kGroupsListed = 10;

constexpr bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

// The line and a caret below the mistake; a long line is cut, and what a terminal might obey is shown as '?'.
std::string show_line(std::string_view line, std::size_t offset) {
  const std::size_t start = offset > kShownBefore ? offset - kShownBefore : 0;
  const std::size_t end = std::min(line.size(), offset + kShownAfter);
  std::string shown = start > 0 ? "..." : "";
  std::size_t caret = shown.size();
  for (std::size_t i = start; i < end; ++i) {
    const auto byte = static_cast<unsigned char>(line[i]);
    if (byte == '\t')
      shown += ' ';
    else
      shown += byte < 0x20 || byte == 0x7F ? '?' : line[i];
    if (i < offset && !is_continuation(line[i])) ++caret;
  }
  if (end < line.size()) shown += "...";
  return fmt::format("  {}\n  {:>{}}", shown, '^', caret + 1);
}

class Parser {
public:
  Parser(std::string_view file, std::string_view group, std::uint64_t max_hosts)
      : file_(file), wanted_(group), max_hosts_(max_hosts), current_(&groups_["main"]) {
    group_order_.push_back(kDefaultNodegroup);
    intern({});
  }

  Result<Nodelist> parse(std::string_view text);

private:
  struct Group {
    std::uint64_t mentions = 0;
  };

  std::optional<Mistake> line(std::string_view text);
  std::optional<Mistake> group_line(LineReader& reader);
  std::optional<Mistake> host_line(LineReader& reader);
  std::optional<Mistake> add_host(std::string name, const std::vector<NodelistSetting>& settings);
  std::uint32_t intern(HostOptions options);
  std::optional<Mistake> change(std::uint32_t& options, const std::vector<NodelistSetting>& settings);
  Error no_host() const;

  std::string_view file_;
  std::string_view wanted_;
  std::uint64_t max_hosts_;
  std::unordered_map<std::string_view, Group> groups_;
  std::vector<std::string_view> group_order_;
  Group* current_;
  bool chosen_ = wanted_ == kDefaultNodegroup;
  bool in_group_ = false;             // after the first `group` line
  std::uint32_t global_options_ = 0;  // indices into list_.options
  std::uint32_t group_options_ = 0;

  std::map<HostOptions, std::uint32_t> known_options_;
  std::unordered_map<std::string, std::uint32_t> known_hosts_;
  Nodelist list_;
};

std::uint32_t Parser::intern(HostOptions options) {
  const auto [entry, added] =
      known_options_.try_emplace(std::move(options), static_cast<std::uint32_t>(list_.options.size()));
  if (added) list_.options.push_back(entry->first);
  return entry->second;
}

// Replaces the index `options` by that of the options changed by `settings`.
std::optional<Mistake> Parser::change(std::uint32_t& options, const std::vector<NodelistSetting>& settings) {
  if (settings.empty()) return std::nullopt;
  HostOptions changed = list_.options[options];
  if (auto mistake = apply_settings(settings, changed)) return mistake;
  options = intern(std::move(changed));
  return std::nullopt;
}

std::optional<Mistake> Parser::line(std::string_view text) {
  LineReader reader(text);
  LineWord word;
  Mistake mistake;
  const auto found = reader.next(word, mistake);
  if (found == LineReader::Found::mistake) return mistake;
  if (found == LineReader::Found::end) return std::nullopt;
  if (!word.quoted && word.text == "group") return group_line(reader);
  if (!word.quoted && word.text == "host") return host_line(reader);
  std::vector<NodelistSetting> settings;
  if (auto wrong = read_settings(reader, &word, settings)) {
    if (wrong->offset == word.offset && wrong->message.starts_with("unknown key"))
      wrong->message += "; a line begins with host, group or a key";
    return wrong;
  }
  if (auto wrong = change(group_options_, settings)) return wrong;
  if (!in_group_) global_options_ = group_options_;
  return std::nullopt;
}

std::optional<Mistake> Parser::group_line(LineReader& reader) {
  LineWord name;
  Mistake mistake;
  const auto found = reader.next(name, mistake);
  if (found == LineReader::Found::mistake) return mistake;
  if (found == LineReader::Found::end || name.text.empty()) return Mistake{0, "group needs a name"};
  std::vector<NodelistSetting> settings;
  if (auto wrong = read_settings(reader, nullptr, settings)) return wrong;
  const auto [entry, added] = groups_.try_emplace(name.text);
  if (added) group_order_.push_back(name.text);
  current_ = &entry->second;
  chosen_ = name.text == wanted_;
  in_group_ = true;
  group_options_ = global_options_;
  return change(group_options_, settings);
}

std::optional<Mistake> Parser::host_line(LineReader& reader) {
  LineWord name;
  Mistake mistake;
  const auto found = reader.next(name, mistake);
  if (found == LineReader::Found::mistake) return mistake;
  if (found == LineReader::Found::end) return Mistake{0, "host needs a name"};
  HostPattern pattern;
  if (auto wrong = HostPattern::parse(name.text, pattern)) {
    wrong->offset += name.offset + (name.quoted ? 1 : 0);
    return wrong;
  }
  std::vector<NodelistSetting> settings;
  if (auto wrong = read_settings(reader, nullptr, settings)) {
    if (wrong->message.starts_with("unknown key")) wrong->message += "; one host a line";
    return wrong;
  }
  current_->mentions += pattern.count();
  if (!chosen_) return std::nullopt;
  if (current_->mentions > max_hosts_)
    return Mistake{name.offset, fmt::format("more than {} hosts", max_hosts_)};
  for (std::string& host : pattern.expand())
    if (auto wrong = add_host(std::move(host), settings)) return wrong;
  return std::nullopt;
}

std::optional<Mistake> Parser::add_host(std::string name, const std::vector<NodelistSetting>& settings) {
  const auto [known, added] = known_hosts_.try_emplace(name, static_cast<std::uint32_t>(list_.hosts.size()));
  if (added)
    list_.hosts.push_back({std::move(name), 1, group_options_});
  else
    ++list_.hosts[known->second].slots;
  return change(list_.hosts[known->second].options, settings);
}

Error Parser::no_host() const {
  std::string present;
  std::size_t listed = 0;
  std::size_t more = 0;
  for (const std::string_view name : group_order_) {
    const std::uint64_t hosts = groups_.at(name).mentions;
    if (hosts == 0) continue;
    if (listed++ < kGroupsListed)
      present += fmt::format("{}{} ({} host{})", present.empty() ? "" : ", ", quotable(name), hosts,
                             hosts == 1 ? "" : "s");
    else
      ++more;
  }
  if (present.empty())
    return {Errc::bad_input, Phase::nodelist, fmt::format("{}: it names no host", file_),
            "write one line `host NAME` for each"};
  if (more > 0) present += fmt::format(" and {} more", more);
  return {Errc::bad_input, Phase::nodelist,
          fmt::format("{}: group '{}' has no host", file_, quotable(wanted_)),
          fmt::format("groups with hosts: {}; choose one with ++nodegroup", present)};
}

Result<Nodelist> Parser::parse(std::string_view text) {
  static constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.size() > kMaxNodelistBytes)
    return Error{Errc::bad_input, Phase::nodelist,
                 fmt::format("{}: larger than {} MiB", file_, kMaxNodelistBytes >> 20)};
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view one = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (one.ends_with('\r')) one.remove_suffix(1);
    const auto mistake =
        one.size() > kMaxNodelistLine
            ? Mistake{kMaxNodelistLine, fmt::format("longer than {} bytes", kMaxNodelistLine)}
            : line(one);
    if (mistake)
      return Error{Errc::bad_input, Phase::nodelist,
                   fmt::format("{}:{}:{}: {}\n{}", file_, number, mistake->offset + 1, mistake->message,
                               show_line(one, mistake->offset))};
  }
  if (list_.hosts.empty()) return no_host();
  return std::move(list_);
}

}  // namespace

Result<Nodelist> parse_nodelist(std::string_view text, std::string_view file, std::string_view group,
                                std::uint64_t max_hosts) {
  return Parser(file, group, max_hosts).parse(text);
}

Result<std::string> apply_pathfix(std::string_view path, std::span<const PathFix> rules) {
  std::string fixed{path};
  for (auto rule = rules.rbegin(); rule != rules.rend(); ++rule) {
    for (std::size_t at = fixed.find(rule->from); at != std::string::npos && !rule->from.empty();
         at = fixed.find(rule->from, at + rule->to.size())) {
      fixed.replace(at, rule->from.size(), rule->to);
      if (fixed.size() > kMaxFixedPath)
        return Error{Errc::bad_input, Phase::nodelist,
                     fmt::format("pathfix '{}' '{}' makes the path longer than {} bytes", rule->from,
                                 rule->to, kMaxFixedPath)};
    }
  }
  return fixed;
}

}  // namespace charmtree
