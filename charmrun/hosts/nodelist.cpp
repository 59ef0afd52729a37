// SPDX-License-Identifier: Apache-2.0
// One pass over the lines.
#include "charmrun/hosts/nodelist.hpp"

#include <fmt/format.h>

#include <unordered_map>

#include "charmrun/hosts/host_file.hpp"
#include "charmrun/hosts/host_set.hpp"
#include "charmrun/hosts/nodelist_builder.hpp"
#include "charmrun/hosts/nodelist_line.hpp"
#include "tree/wire/words.hpp"

namespace charmtree {
namespace {

constexpr std::size_t kGroupsListed = 10;

class Parser {
public:
  Parser(std::string_view file, std::string_view group, std::uint64_t max_hosts)
      : file_(file), wanted_(group), max_hosts_(max_hosts), current_(&groups_["main"]) {
    group_order_.push_back(kDefaultNodegroup);
  }

  Result<Nodelist> parse(std::string_view text);

private:
  struct Group {
    std::uint64_t mentions = 0;
  };

  std::optional<Mistake> line(std::string_view text);
  std::optional<Mistake> group_line(LineReader& reader);
  std::optional<Mistake> host_line(LineReader& reader);
  std::optional<Mistake> add_host(NamedHost named, const std::vector<NodelistSetting>& settings);
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
  std::uint32_t global_options_ = 0;  // indices into the list's options
  std::uint32_t group_options_ = 0;
  bool gives_slots_ = false;  // by a number behind a name
  NodelistBuilder list_;
};

// Replaces the index `options` by that of the options changed by `settings`.
std::optional<Mistake> Parser::change(std::uint32_t& options, const std::vector<NodelistSetting>& settings) {
  if (settings.empty()) return std::nullopt;
  HostOptions changed = list_.options(options);
  if (auto mistake = apply_settings(settings, changed)) return mistake;
  options = list_.intern(std::move(changed));
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
  const auto in_name = [&name](Mistake wrong) {
    wrong.offset += name.offset + (name.quoted ? 1 : 0);
    return wrong;
  };
  HostSet set;
  if (auto wrong = HostSet::parse(name.text, set)) return in_name(std::move(*wrong));
  std::vector<NodelistSetting> settings;
  if (auto wrong = read_settings(reader, nullptr, settings)) {
    if (wrong->message.starts_with("unknown key")) wrong->message += "; one host a line";
    return wrong;
  }
  current_->mentions += set.count();
  if (!chosen_) return std::nullopt;
  if (current_->mentions > max_hosts_)
    return Mistake{name.offset, fmt::format("more than {} hosts", max_hosts_)};
  std::vector<NamedHost> hosts;
  if (auto wrong = set.expand(hosts)) return in_name(std::move(*wrong));
  for (NamedHost& host : hosts)
    if (auto wrong = add_host(std::move(host), settings)) return wrong;
  return std::nullopt;
}

std::optional<Mistake> Parser::add_host(NamedHost named, const std::vector<NodelistSetting>& settings) {
  gives_slots_ = gives_slots_ || named.slots > 0;
  NodelistHost& host = list_.mention(std::move(named), group_options_);
  return change(host.options, settings);
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
  const auto read = read_lines(text, file_, [this](std::string_view one) { return line(one); });
  if (!read) return read.error();
  if (list_.is_empty()) return no_host();
  return list_.take(gives_slots_);
}

}  // namespace

Result<Nodelist> parse_nodelist(std::string_view text, std::string_view file, std::string_view group,
                                std::uint64_t max_hosts) {
  if (is_host_file(text)) {
    if (group == kDefaultNodegroup) return parse_host_file(text, file, max_hosts);
    return Error{Errc::bad_input, Phase::nodelist,
                 fmt::format("{}: it has no group '{}'", file, quotable(group)),
                 "groups are Charm++'s: lines `group NAME` and `host NAME`"};
  }
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
