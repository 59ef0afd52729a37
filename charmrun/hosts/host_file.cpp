// SPDX-License-Identifier: Apache-2.0
#include "charmrun/hosts/host_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "charmrun/hosts/host_set.hpp"
#include "charmrun/hosts/nodelist_builder.hpp"
#include "tree/wire/node_table.hpp"
#include "tree/wire/words.hpp"

namespace charmtree {
namespace {

constexpr std::string_view kForms =
    "a line is HOST, HOST:SLOTS, HOST slots=N or HOST N, or in Charm++'s nodelists "
    "`host HOST`";

/// Of whom a line is known to be; the first: nothing tells.
enum class Kind : std::uint8_t { any, mpich, open_mpi, sge };

constexpr std::array<std::string_view, 4> kNames = {"", "MPICH's kind (HOST:SLOTS)",
                                                    "Open MPI's or LSF's (HOST slots=N, HOST N)",
                                                    "SGE's (HOST SLOTS QUEUE@HOST CPUS)"};

struct Word {
  std::string text;
  std::size_t offset = 0;
};

std::string_view without_comment(std::string_view line) {
  line = line.substr(0, line.find('#'));
  return line.substr(0, line.find("//"));
}

/// Blanks around `=` do not separate.
std::vector<Word> split_words(std::string_view line) {
  std::vector<Word> words;
  for (std::size_t at = 0; at < line.size();) {
    if (is_blank(line[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < line.size() && !is_blank(line[end])) ++end;
    const std::string_view text = line.substr(at, end - at);
    if (!words.empty() && (text.front() == '=' || words.back().text.back() == '='))
      words.back().text += text;
    else
      words.push_back({std::string{text}, at});
    at = end;
  }
  return words;
}

std::optional<std::uint32_t> slots_in(std::string_view text) {
  std::uint32_t number = 0;
  if (!read_whole(text, number) || number > wire::kMaxProcesses) return {};
  return number;
}

/// What is written behind a host.
struct Behind {
  std::optional<std::uint32_t> slots;
  std::uint32_t port = 0;
  std::string login;
};

/// `slots=4`.
std::optional<Mistake> read_key(const Word& word, Behind& out) {
  static constexpr std::array<std::string_view, 4> kSlots = {"slots", "slot", "cpu", "count"};
  static constexpr std::array<std::string_view, 4> kUnused = {"max_slots", "max-slots", "slots_max",
                                                              "binding"};
  const auto is_among = [](const auto& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  const std::string_view text = word.text;
  const auto equals = text.find('=');
  const std::string_view key = text.substr(0, equals), value = text.substr(equals + 1);
  if (is_among(kUnused, key)) return std::nullopt;
  if (key == "user" || key == "username") {
    if (value.empty() || value.front() == '-')
      return Mistake{word.offset, "a login name belongs behind user="};
    out.login = value;
    return std::nullopt;
  }
  if (key == "port") {
    if (read_whole(value, out.port) && out.port > 0 && out.port <= kMaxSshPort) return std::nullopt;
    return Mistake{word.offset, fmt::format("port= needs a number from 1 to {}", kMaxSshPort)};
  }
  if (!is_among(kSlots, key))
    return Mistake{word.offset,
                   fmt::format("'{}' is not understood behind a host: {}", quotable(text), kForms)};
  out.slots = slots_in(value);
  if (!out.slots) return Mistake{word.offset, fmt::format("{}= needs a number of slots", key)};
  return std::nullopt;
}

class HostFile {
public:
  explicit HostFile(std::uint64_t max_hosts) : max_hosts_(max_hosts), left_(max_hosts) {}

  std::optional<Mistake> line(std::string_view line);
  bool is_empty() const { return list_.is_empty(); }
  Nodelist take() { return list_.take(true); }

private:
  std::optional<Mistake> host(const std::vector<Word>& words);
  std::optional<Mistake> pairs(const std::vector<Word>& words);
  std::optional<Mistake> is_of(Kind kind, std::size_t offset);
  std::optional<Mistake> add(const Word& names, const Behind& behind);

  std::uint64_t max_hosts_, left_;
  std::size_t number_ = 0;
  Kind kind_ = Kind::any;
  std::size_t told_by_ = 0;  // the line that told the kind
  NodelistBuilder list_;
};

std::optional<Mistake> HostFile::is_of(Kind kind, std::size_t offset) {
  if (kind_ == Kind::any) {
    kind_ = kind;
    told_by_ = number_;
  }
  if (kind == kind_) return std::nullopt;
  return Mistake{offset, fmt::format("this line is of {}, and line {} of {}: write all in one way",
                                     kNames[static_cast<std::size_t>(kind)], told_by_,
                                     kNames[static_cast<std::size_t>(kind_)])};
}

std::optional<Mistake> HostFile::add(const Word& names, const Behind& behind) {
  const auto in_names = [&names](Mistake mistake) {
    mistake.offset += names.offset;
    return mistake;
  };
  HostSet set;
  if (auto mistake = HostSet::parse(names.text, set)) return in_names(std::move(*mistake));
  if (set.count() > left_) return Mistake{names.offset, fmt::format("more than {} hosts", max_hosts_)};
  left_ -= set.count();
  std::vector<NamedHost> hosts;
  if (auto mistake = set.expand(hosts)) return in_names(std::move(*mistake));
  for (NamedHost& host : hosts) {
    const bool has_own = host.slots > 0 && names.text.find(':') != std::string::npos;
    if (behind.slots && has_own) return Mistake{names.offset, "its slots are given twice"};
    if (has_own) {
      if (auto mistake = is_of(Kind::mpich, names.offset)) return mistake;
    }
    if (behind.slots == 0U) continue;  // there, and not to be used
    if (behind.slots) host.slots = *behind.slots;
    if (behind.port != 0) host.port = behind.port;
    if (!behind.login.empty()) host.login = behind.login;
    list_.mention(std::move(host), 0);
  }
  return std::nullopt;
}

/// `h1 4 h2 2`.
std::optional<Mistake> HostFile::pairs(const std::vector<Word>& words) {
  for (std::size_t i = 0; i < words.size(); i += 2) {
    Behind behind;
    if (i + 1 < words.size()) behind.slots = slots_in(words[i + 1].text);
    if (!behind.slots)
      return Mistake{words[std::min(i + 1, words.size() - 1)].offset,
                     fmt::format("a number of slots is missing behind '{}'", quotable(words[i].text))};
    if (auto mistake = add(words[i], behind)) return mistake;
  }
  return std::nullopt;
}

std::optional<Mistake> HostFile::host(const std::vector<Word>& words) {
  Behind behind;
  std::size_t at = 1;
  if (words.size() > 1 && slots_in(words[1].text)) {
    const bool is_sge = words.size() > 2 && (words[2].text.find('@') != std::string::npos ||
                                             (words.size() == 4 && !slots_in(words[3].text)));
    if (is_sge) {
      if (auto mistake = is_of(Kind::sge, words[1].offset)) return mistake;
      behind.slots = slots_in(words[1].text);
      return words.size() > 4 ? std::optional{Mistake{words[4].offset, "more words than in a line of SGE's"}}
                              : add(words[0], behind);
    }
    if (auto mistake = is_of(Kind::open_mpi, words[1].offset)) return mistake;
    if (words.size() > 2 && words[2].text.find('=') == std::string::npos) return pairs(words);
    behind.slots = slots_in(words[1].text);
    at = 2;
  }
  for (; at < words.size(); ++at) {
    const std::string_view text = words[at].text;
    const auto equals = text.find('=');
    if (equals == std::string_view::npos)
      return Mistake{words[at].offset,
                     fmt::format("'{}' is not understood behind a host: {}", quotable(text), kForms)};
    const bool is_mpich = text.starts_with("binding") || text.starts_with("user=");
    if (auto mistake = read_key(words[at], behind)) return mistake;
    if (is_mpich) continue;
    if (auto mistake = is_of(Kind::open_mpi, words[at].offset)) return mistake;
  }
  return add(words[0], behind);
}

std::optional<Mistake> HostFile::line(std::string_view line) {
  ++number_;
  if (auto mistake = find_control(line)) return mistake;
  const auto words = split_words(without_comment(line));
  if (words.empty()) return std::nullopt;
  const char first = words[0].text.front();
  if (first == '^' || first == '+')
    return Mistake{words[0].offset, fmt::format("'{}' counts on an allocation: {}", quotable(words[0].text),
                                                "name the hosts; ++exclude leaves some out")};
  return host(words);
}

}  // namespace

bool is_host_file(std::string_view text) {
  text = without_mark(text);
  bool has_lines = false;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    std::size_t at = line.find_first_not_of(" \t\r");
    if (at == std::string_view::npos || line[at] == '#') continue;
    has_lines = true;
    const std::size_t end = std::min(line.find_first_of(" \t\r", at), line.size());
    const std::string_view word = line.substr(at, end - at);
    if (word != "host" && word != "group") continue;
    at = line.find_first_not_of(" \t\r", end);
    if (at != std::string_view::npos && line[at] != '#' && line[at] != '=') return false;
  }
  return has_lines;
}

Result<Nodelist> parse_host_file(std::string_view text, std::string_view file, std::uint64_t max_hosts) {
  HostFile hosts{max_hosts};
  const auto read = read_lines(text, file, [&hosts](std::string_view line) { return hosts.line(line); });
  if (!read) return read.error();
  if (hosts.is_empty())
    return Error{Errc::bad_input, Phase::nodelist, fmt::format("{}: it names no host", file),
                 "write one on each line"};
  return hosts.take();
}

}  // namespace charmtree
