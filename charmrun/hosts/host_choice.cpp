// SPDX-License-Identifier: Apache-2.0
#include "charmrun/hosts/host_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "charmrun/hosts/host_set.hpp"
#include "charmrun/hosts/nodelist_builder.hpp"
#include "tree/wire/words.hpp"

namespace charmtree {
namespace {

class Chooser {
public:
  explicit Chooser(const HostText& list) : list_(list) {}

  Result<Nodelist> choose(const HostChoice& choice);

private:
  Result<std::vector<NamedHost>> named(std::string_view option, std::string_view text);
  std::optional<Mistake> find_group(std::string_view group, std::vector<NamedHost>& out);
  void know(const Nodelist& list);
  void add(NamedHost host, NodelistBuilder& out) const;

  struct Known {
    HostOptions options;
    std::uint32_t slots = 1;
  };
  const HostText& list_;
  std::unordered_map<std::string, Known>
      known_;  // what the list says of hosts, and groups that are named, the last one first
};

void Chooser::know(const Nodelist& list) {
  for (const NodelistHost& host : list.hosts) {
    Known known{list.options_of(host), host.slots};
    known.options.slots = 0;  // which `slots` has
    known_.insert_or_assign(host.name, std::move(known));
  }
}

std::optional<Mistake> Chooser::find_group(std::string_view group, std::vector<NamedHost>& out) {
  if (list_.text.empty()) return Mistake{0, "there is no nodelist that has groups"};
  const auto hosts = parse_nodelist(list_.text, list_.file, group);
  if (!hosts)
    return Mistake{
        0, hosts.error().fix.empty() ? hosts.error().what : hosts.error().what + ": " + hosts.error().fix};
  know(*hosts);
  for (const NodelistHost& host : hosts->hosts) out.push_back({host.name, {}, 0, 0});
  return std::nullopt;
}

Result<std::vector<NamedHost>> Chooser::named(std::string_view option, std::string_view text) {
  return read_hosts(option, text, [this](std::string_view group, std::vector<NamedHost>& out) {
    return find_group(group, out);
  });
}

void Chooser::add(NamedHost host, NodelistBuilder& out) const {
  const auto known = known_.find(host.name);
  if (known == known_.end()) {
    out.mention(std::move(host), 0);
    return;
  }
  if (host.slots == 0) host.slots = known->second.slots;
  out.mention(std::move(host), out.intern(known->second.options));
}

Result<Nodelist> Chooser::choose(const HostChoice& choice) {
  Nodelist all;
  bool gives_slots = true;
  if (!list_.text.empty()) {
    auto list = parse_nodelist(list_.text, list_.file, list_.group);
    if (!list && (choice.hosts.empty() || list.error().fix.empty()))
      return list.error();  // not: no such group
    if (list) all = std::move(*list);
    know(all);
  }
  std::vector<NamedHost> hosts;
  if (choice.hosts.empty()) {
    gives_slots = all.gives_slots;
    for (const NodelistHost& host : all.hosts) hosts.push_back({host.name, {}, host.slots, 0});
  } else {
    auto chosen = named("++host", choice.hosts);
    if (!chosen) return chosen.error();
    hosts = std::move(*chosen);
  }
  std::unordered_set<std::string> left_out;
  if (!choice.excluded.empty()) {
    auto excluded = named("++exclude", choice.excluded);
    if (!excluded) return excluded.error();
    for (NamedHost& host : *excluded) left_out.insert(std::move(host.name));
  }
  NodelistBuilder out;
  for (NamedHost& host : hosts) {
    if (left_out.find(host.name) == left_out.end()) add(std::move(host), out);
  }
  if (out.is_empty())
    return Error{Errc::bad_input, Phase::nodelist,
                 hosts.empty() ? fmt::format("++host {}: no host is left", quotable(choice.hosts))
                               : fmt::format("++exclude {}: no host is left", quotable(choice.excluded)),
                 "name fewer to leave out"};
  return out.take(gives_slots);
}

/// Returns true for what inet_aton takes for an address though it is not written as one: 28 would be
/// 0.0.0.28.
bool is_number(std::string_view name) {
  if (name.starts_with("0x") || name.starts_with("0X"))
    return name.size() > 2 && name.find_first_not_of("0123456789abcdefABCDEF", 2) == std::string_view::npos;
  return name.find_first_not_of("0123456789.") == std::string_view::npos &&
         std::count(name.begin(), name.end(), '.') != 3;
}

}  // namespace

Result<Nodelist> choose_hosts(const HostText& list, const HostChoice& choice) {
  auto chosen =
      choice.is_any() ? parse_nodelist(list.text, list.file, list.group) : Chooser{list}.choose(choice);
  if (!chosen) return chosen;
  const auto number = std::find_if(chosen->hosts.begin(), chosen->hosts.end(),
                                   [](const NodelistHost& host) { return is_number(host.name); });
  if (number == chosen->hosts.end()) return chosen;
  return Error{Errc::bad_input, Phase::nodelist,
               fmt::format("the host '{}' is a number, not a name or an address", quotable(number->name)),
               "-n says how many processes, HOST:N how many on a host"};
}

}  // namespace charmtree
