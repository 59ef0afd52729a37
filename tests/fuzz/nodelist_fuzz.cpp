// SPDX-License-Identifier: Apache-2.0
// Any text as a list of hosts, Charm++'s or another launcher's, and its first line as ++host and ++exclude: a
// list that keeps its promises, or one error that is fit for a terminal.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>

#include "charmrun/hosts/host_choice.hpp"
#include "charmrun/hosts/nodelist.hpp"
#include "tests/fuzz/script.hpp"
#include "tree/wire/node_table.hpp"

namespace {

using namespace charmtree;

constexpr std::uint64_t kMaxHosts = 1000;  // patterns that expand to a million names only cost time

using charmtree::fuzz::require;

void check_hosts(const Nodelist& list) {
  require(!list.hosts.empty() && list.hosts.size() <= kMaxHosts);
  std::unordered_set<std::string_view> names;
  for (const NodelistHost& host : list.hosts) {
    require(names.insert(host.name).second);
    require(!host.name.empty() && host.name.front() != '-');
    require(host.name.find_first_of(" \t'\";$`|&<>()\\/@#") == std::string::npos);
    require(host.slots > 0 && host.slots <= wire::kMaxProcesses && host.options < list.options.size());
  }
}

void check_options(const Nodelist& list) {
  for (const HostOptions& options : list.options) {
    require(options.path_fixes.size() <= kMaxPathFixes);
    require(!options.login.starts_with('-'));
    const auto fixed = apply_pathfix("/home/user/project/app", options.path_fixes);
    require(!fixed || fixed->size() <= kMaxFixedPath);
  }
}

// At most the message, the line and the caret; nothing that a terminal might obey.
void check_error(const Error& error) {
  const auto is_control = [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7F;
  };
  require(std::none_of(error.what.begin(), error.what.end(), is_control));
  require(std::none_of(error.fix.begin(), error.fix.end(), is_control));
  require(error.code == Errc::bad_input && error.phase == Phase::nodelist);
  require(error.what.starts_with("nodes:"));
  require(std::count(error.what.begin(), error.what.end(), '\n') <= 2);
}

/// At most so long that patterns do not expand to a million names each time.
constexpr std::size_t kMaxChoice = 40;

void check_choice(std::string_view text) {
  const std::string_view line = text.substr(0, std::min(text.find('\n'), kMaxChoice));
  if (std::count_if(line.begin(), line.end(), [](char c) { return c >= '0' && c <= '9'; }) > 6) return;
  const HostText nodes{"host n1\nhost n2\ngroup g\nhost n3 login me\n", "nodes"};
  for (const HostChoice& choice : {HostChoice{std::string{line}, "n2"}, HostChoice{"", std::string{line}}}) {
    const auto list = choose_hosts(nodes, choice);
    if (list) {
      require(!list->hosts.empty());
      for (const NodelistHost& host : list->hosts) require(choice.excluded != "n2" || host.name != "n2");
      continue;
    }
    require(list.error().what.starts_with("++host") || list.error().what.starts_with("++exclude"));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_choice(text);
  const auto list = parse_nodelist(text, "nodes", kDefaultNodegroup, kMaxHosts);
  if (!list) {
    check_error(list.error());
    return 0;
  }
  check_hosts(*list);
  check_options(*list);
  return 0;
}
