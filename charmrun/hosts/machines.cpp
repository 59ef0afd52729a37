// SPDX-License-Identifier: Apache-2.0
#include "charmrun/hosts/machines.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

namespace charmtree {

namespace {

/// The words of a line up to its comment.
std::vector<std::string_view> words_of(std::string_view line) {
  constexpr std::string_view kBlank = " \t\r";
  line = line.substr(0, line.find('#'));
  std::vector<std::string_view> words;
  for (std::size_t at = line.find_first_not_of(kBlank); at < line.size();
       at = line.find_first_not_of(kBlank, at)) {
    const std::size_t end = std::min(line.find_first_of(kBlank, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

/// Name -> address; the first line counts, as for the resolver.
std::unordered_map<std::string_view, std::string_view> read_hosts(std::string_view text) {
  std::unordered_map<std::string_view, std::string_view> addresses;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const auto words = words_of(text.substr(at, end - at));
    for (std::size_t i = 1; i < words.size(); ++i) addresses.emplace(words[i], words[0]);
    at = end + 1;
  }
  return addresses;
}

/// Without the dot that ends a name which is complete.
std::string canonical(std::string_view name) {
  if (name.ends_with('.')) name.remove_suffix(1);
  std::string text{name};
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

}  // namespace

ThisMachine::ThisMachine(std::string_view own_name, std::string_view hosts_file,
                         std::vector<wire::Address> addresses)
    : addresses_(std::move(addresses)), names_{"localhost", canonical(own_name)} {
  const auto known = read_hosts(hosts_file);
  const auto entry = known.find(own_name);
  const std::string_view own = entry == known.end() ? std::string_view{} : entry->second;
  std::string label{canonical(own_name.substr(0, own_name.find('.')))};
  for (const auto& [name, address] : known) {
    if (has_address(address) || address == own)
      names_.insert(canonical(name));
    else if (canonical(name) == label)
      label.clear();
  }
  if (!label.empty()) names_.insert(std::move(label));
}

bool ThisMachine::has_name(std::string_view name) const {
  return !name.empty() && (names_.contains(canonical(name)) || has_address(name));
}

bool ThisMachine::has_address(std::string_view text) const {
  const auto address = wire::parse_address(std::string{text});
  return address && (address->is_loopback() ||
                     std::find(addresses_.begin(), addresses_.end(), *address) != addresses_.end());
}

void number_machines(std::vector<Host>& hosts, std::string_view hosts_file) {
  const auto known = read_hosts(hosts_file);
  std::unordered_map<std::string_view, Host*> first;  // by address, or name where there is none
  std::uint32_t machines = 0;
  for (Host& host : hosts) {
    const auto entry = known.find(host.target());
    const std::string_view address = entry == known.end() ? std::string_view{host.target()} : entry->second;
    const auto [other, is_new] = first.emplace(address, &host);
    if (is_new) continue;
    if (other->second->machine == 0) other->second->machine = ++machines;
    host.machine = other->second->machine;
  }
}

}  // namespace charmtree
