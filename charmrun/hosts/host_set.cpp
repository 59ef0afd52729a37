// SPDX-License-Identifier: Apache-2.0
#include "charmrun/hosts/host_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "charmrun/hosts/listed_text.hpp"
#include "tree/wire/node_table.hpp"
#include "tree/wire/words.hpp"

namespace charmtree {
namespace {

constexpr std::string_view kOperators = ",!&";

constexpr bool is_no_login(char c) {
  return std::string_view{"'\"[]"}.find(c) != std::string_view::npos ||
         static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
}

/// Where the term that begins at `at` is over: at an operator outside of brackets.
std::size_t end_of_term(std::string_view text, std::size_t at) {
  bool in_bracket = false;
  for (; at < text.size(); ++at) {
    if (!in_bracket && kOperators.find(text[at]) != std::string_view::npos) break;
    if (text[at] == '[') in_bracket = true;
    if (text[at] == ']') in_bracket = false;
  }
  return at;
}

/// `[n1]:22` or `[::1]`, not the pattern `[1-4]:22`: takes the name out of the brackets. True if a port
/// follows.
bool take_bracketed(std::string_view& name, std::string_view& number) {
  if (!name.starts_with('[')) return false;
  if (name.ends_with(']') && name.find(':') != name.rfind(':')) {  // an address of IPv6, by itself
    name = name.substr(1, name.size() - 2);
    return false;
  }
  const std::size_t close = name.find("]:");
  if (close == std::string_view::npos) return false;
  const std::string_view inner = name.substr(1, close - 1);
  if (inner.find_first_not_of("0123456789-,") == std::string_view::npos) return false;
  number = name.substr(close + 2);
  name = inner;
  return true;
}

std::optional<std::uint32_t> positive_in(std::string_view text, std::uint32_t most) {
  std::uint32_t number = 0;
  if (!read_whole(text, number) || number == 0 || number > most) return {};
  return number;
}

/// What has been found so far.
class Chosen {
public:
  /// Another mention.
  void add(NamedHost host) {
    const auto [place, is_new] = places_.try_emplace(host.name, hosts_.size());
    if (is_new) return hosts_.push_back(std::move(host));
    NamedHost& known = hosts_[place->second];
    const std::uint32_t slots = std::max(known.slots, 1U) + std::max(host.slots, 1U);
    known.slots = std::min(slots, wire::kMaxProcesses);
    if (!host.login.empty()) known.login = std::move(host.login);
    if (host.port != 0) known.port = host.port;
  }
  void add_once(NamedHost host) {
    if (places_.find(host.name) == places_.end()) add(std::move(host));
  }
  /// Those that are, or are not, among these.
  void keep(const std::vector<NamedHost>& others, bool among) {
    std::unordered_set<std::string_view> names;
    for (const NamedHost& each : others) names.insert(each.name);
    std::vector<NamedHost> all = std::exchange(hosts_, {});
    places_.clear();
    for (NamedHost& each : all) {
      if ((names.find(each.name) != names.end()) == among) add(std::move(each));
    }
  }
  std::vector<NamedHost> take() { return std::move(hosts_); }

private:
  std::vector<NamedHost> hosts_;
  std::unordered_map<std::string, std::size_t> places_;
};

}  // namespace

std::optional<Mistake> HostSet::parse_term(std::string_view text, Term& term) {
  const auto at = [text](std::string_view part) {
    return static_cast<std::size_t>(part.data() - text.data());
  };
  if (text.empty()) return Mistake{0, "a host is missing here"};
  if (text.front() == '@') {
    term.group = text.substr(1);
    return term.group.empty() ? std::optional{Mistake{0, "the name of a group is missing behind '@'"}}
                              : std::nullopt;
  }
  std::string_view name = text;
  if (const auto user = name.find('@'); user != std::string_view::npos) {
    term.host.login = name.substr(0, user);
    if (term.host.login.empty()) return Mistake{0, "a user is missing in front of '@'"};
    if (term.host.login.front() == '-') return Mistake{0, "a login name cannot begin with '-'"};
    if (std::any_of(term.host.login.begin(), term.host.login.end(), is_no_login))
      return Mistake{0, "a login name cannot hold quotes, brackets and control characters"};
    name.remove_prefix(user + 1);
  }
  std::string_view number;
  if (take_bracketed(name, number)) {
    const auto port = positive_in(number, kMaxSshPort);
    if (!port) return Mistake{at(number), fmt::format("a port is a number from 1 to {}", kMaxSshPort)};
    term.host.port = *port;
  } else if (const auto colon = name.find(':'); colon != std::string_view::npos && colon == name.rfind(':')) {
    number = name.substr(colon + 1);
    name = name.substr(0, colon);
    const auto slots = positive_in(number, wire::kMaxProcesses);
    if (!slots) return Mistake{at(number), "a number of slots belongs behind the ':'"};
    if (*slots > kMostSlotsBehindColon)
      return Mistake{at(number),
                     fmt::format("slots, or a port? A port is written [{0}]:{1}, slots {0} slots={1}",
                                 quotable(name), *slots)};
    term.host.slots = *slots;
  }
  auto mistake = HostPattern::parse(name, term.pattern);
  if (mistake) mistake->offset += at(name);
  return mistake;
}

std::optional<Mistake> HostSet::parse(std::string_view text, HostSet& out) {
  out = {};
  char how = ',';
  for (std::size_t begin = 0;;) {
    const std::size_t end = end_of_term(text, begin);
    Term& term = out.terms_.emplace_back();
    term.how = how;
    term.offset = begin;
    if (auto mistake = parse_term(text.substr(begin, end - begin), term)) {
      mistake->offset += begin;
      return mistake;
    }
    if (term.group.empty()) out.count_ += term.pattern.count();
    if (out.count_ > kMaxPatternHosts)
      return Mistake{begin, fmt::format("more than {} hosts in one word", kMaxPatternHosts)};
    if (end == text.size()) return std::nullopt;
    how = text[end];
    begin = end + 1;
  }
}

std::optional<Mistake> HostSet::expand(std::vector<NamedHost>& out, const FindGroup& find_group) const {
  Chosen chosen;
  for (const Term& term : terms_) {
    std::vector<NamedHost> hosts;
    if (!term.group.empty()) {
      auto mistake = find_group
                         ? find_group(term.group, hosts)
                         : Mistake{0, "a group can be named by ++host and ++exclude, and not in the file"};
      if (mistake) {
        mistake->offset += term.offset;
        return mistake;
      }
    } else {
      for (std::string& name : term.pattern.expand()) {
        hosts.push_back(term.host);
        hosts.back().name = std::move(name);
      }
    }
    if (term.how != ',') {
      chosen.keep(hosts, term.how == '&');
      continue;
    }
    for (NamedHost& host : hosts) {
      if (term.group.empty())
        chosen.add(std::move(host));
      else
        chosen.add_once(std::move(host));
    }
  }
  out = chosen.take();
  return std::nullopt;
}

Result<std::vector<NamedHost>> read_hosts(std::string_view source, std::string_view text,
                                          const HostSet::FindGroup& find_group) {
  HostSet set;
  std::vector<NamedHost> hosts;
  auto mistake = HostSet::parse(text, set);
  if (!mistake) mistake = set.expand(hosts, find_group);
  if (mistake) return error_at(source, 1, text, *mistake);
  return hosts;
}

}  // namespace charmtree
