// SPDX-License-Identifier: Apache-2.0
#include "charmrun/mpiexec/host_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "charmrun/plan/host_pattern.hpp"
#include "tree/wire/node_table.hpp"
#include "tree/wire/words.hpp"

namespace charmtree::mpiexec {

namespace {

constexpr std::string_view kBlanks = " \t\r";

std::optional<std::uint32_t> slots_in(std::string_view text) {
  std::uint32_t number = 0;
  if (!read_whole(text, number) || number > wire::kMaxProcesses) return {};
  return number;
}

std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; (at = text.find_first_not_of(separators, at)) != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(separators, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end;
  }
  return parts;
}

/// In the order in which they were first named.
class Hosts {
public:
  explicit Hosts(std::uint64_t most) : left_(most) {}
  /// Empty, or what is wrong.
  std::string add(const SlotHost& host) {
    HostPattern pattern;
    if (const auto mistake = HostPattern::parse(host.name, pattern))
      return fmt::format("'{}' is no host: {}", quotable(host.name), mistake->message);
    if (pattern.count() > left_) return "too many hosts";
    left_ -= pattern.count();
    for (std::string& name : pattern.expand()) {
      const auto [place, is_new] = places_.try_emplace(name, all_.size());
      if (is_new) {
        all_.push_back({std::move(name), host.login, host.slots});
      } else {
        SlotHost& known = all_[place->second];
        known.slots = std::min(known.slots + host.slots, wire::kMaxProcesses);
      }
    }
    return {};
  }
  std::vector<SlotHost> take() { return std::move(all_); }

private:
  std::uint64_t left_;
  std::vector<SlotHost> all_;
  std::map<std::string, std::size_t> places_;
};

/// `user@host:4`. Two colons are an address of IPv6.
std::string read_name(std::string_view word, SlotHost& host) {
  if (const auto at = word.find('@'); at != std::string_view::npos) {
    host.login = word.substr(0, at);
    word.remove_prefix(at + 1);
    if (host.login.empty() || host.login.find_first_of("'\"") != std::string::npos)
      return "a user is missing in front of @";
  }
  const auto colon = word.find(':');
  if (colon != std::string_view::npos && colon == word.rfind(':')) {
    const auto slots = slots_in(word.substr(colon + 1));
    if (!slots) return fmt::format("'{}': a number of slots belongs behind the ':'", quotable(word));
    host.slots = *slots;
    word = word.substr(0, colon);
  }
  host.name = word;
  return {};
}

/// `slots=4`, `4`.
std::string read_word(std::string_view word, SlotHost& host) {
  static constexpr std::array<std::string_view, 4> kSlots = {"slots", "slot", "cpu", "count"};
  static constexpr std::array<std::string_view, 4> kUnused = {"max_slots", "max-slots", "slots_max",
                                                              "binding"};
  const auto equals = word.find('=');
  const std::string_view key = word.substr(0, equals);
  const std::string_view value = equals == std::string_view::npos ? word : word.substr(equals + 1);
  if (equals != std::string_view::npos && std::find(kUnused.begin(), kUnused.end(), key) != kUnused.end())
    return {};
  if (key == "user" || key == "username") return host.login = value, std::string{};
  const auto slots = slots_in(value);
  const bool counts =
      equals == std::string_view::npos || std::find(kSlots.begin(), kSlots.end(), key) != kSlots.end();
  if (!counts || !slots) return fmt::format("'{}' is not understood behind a host", quotable(word));
  host.slots = *slots;
  return {};
}

/// Blanks around `=` do not separate.
std::string with_joined_words(std::string_view line) {
  std::string text;
  for (const std::string_view word : split(line, kBlanks)) {
    const bool joins = word.front() == '=' || text.ends_with('=');
    text += (text.empty() || joins ? "" : " ") + std::string{word};
  }
  return text;
}

std::string_view without_comment(std::string_view line) {
  line = line.substr(0, line.find('#'));
  return line.substr(0, line.find("//"));
}

}  // namespace

Result<std::vector<SlotHost>> read_host_file(std::string_view text, std::string_view file,
                                             std::uint64_t max_hosts) {
  Hosts hosts{max_hosts};
  std::size_t number = 0;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  for (std::size_t at = 0; at < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = with_joined_words(without_comment(text.substr(at, end - at)));
    at = end + 1;
    const auto words = split(line, kBlanks);
    if (words.empty()) continue;
    SlotHost host;
    std::string wrong;
    if (words.size() > 1 && (words[0] == "host" || words[0] == "group"))
      wrong = "this is a nodelist of charmrun: name it by ++nodelist";
    if (wrong.empty()) wrong = read_name(words[0], host);
    for (std::size_t i = 1; i < words.size() && wrong.empty(); ++i) wrong = read_word(words[i], host);
    if (wrong.empty()) wrong = hosts.add(host);
    if (!wrong.empty())
      return Error{Errc::bad_input, Phase::nodelist, fmt::format("{}:{}: {}", file, number + 1, wrong),
                   "a line is HOST, HOST:SLOTS or HOST slots=N"};
  }
  auto all = hosts.take();
  if (all.empty())
    return Error{Errc::bad_input, Phase::nodelist, fmt::format("{}: it names no host", file),
                 "write one on each line"};
  return all;
}

Result<std::vector<SlotHost>> read_host_list(std::string_view list) {
  Hosts hosts{kMaxNodelistHosts};
  std::string word;
  int depth = 0;
  for (const char c : std::string{list} + ',') {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (c != ',' || depth > 0) {
      word += c;
      continue;
    }
    SlotHost host;
    std::string wrong = read_name(word, host);
    if (wrong.empty()) wrong = hosts.add(host);
    if (!wrong.empty()) return bad_input(std::move(wrong), "a list of hosts is a,b:2,n[1-4]");
    word.clear();
  }
  if (!word.empty())
    return bad_input(fmt::format("'{}' has no end", quotable(word)), "a list of hosts is a,b:2,n[1-4]");
  return hosts.take();
}

std::string nodelist_text(std::vector<SlotHost> hosts, std::uint32_t processes, std::uint32_t per_host) {
  std::uint64_t slots = 0;
  for (SlotHost& host : hosts) {
    if (per_host > 0) host.slots = per_host;
    slots += host.slots;
  }
  if (slots == 0) {
    for (SlotHost& host : hosts) host.slots = 1;
    slots = hosts.size();
  }
  const std::uint64_t rounds = processes / slots, rest = processes % slots;
  std::vector<std::uint64_t> shares;
  std::uint64_t before = 0, unit = 0;
  for (const SlotHost& host : hosts) {
    const std::uint64_t more = rest > before ? std::min<std::uint64_t>(rest - before, host.slots) : 0;
    before += host.slots;
    shares.push_back(rounds * host.slots + more);
    unit = std::gcd(unit, shares.back());
  }
  std::string text;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    for (std::uint64_t share = 0; share < shares[i]; share += unit) {
      text += fmt::format("host '{}'", hosts[i].name);
      if (share == 0 && !hosts[i].login.empty()) text += fmt::format(" ++login '{}'", hosts[i].login);
      text += '\n';
    }
  }
  return text;
}

}  // namespace charmtree::mpiexec
