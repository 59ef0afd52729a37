// SPDX-License-Identifier: Apache-2.0
// Any text as a nodelist, and as mpiexec's file of hosts: a list that keeps its promises, or one error that
// is fit for a terminal.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>

#include "charmrun/mpiexec/host_file.hpp"
#include "charmrun/plan/nodelist.hpp"
#include "tests/fuzz/script.hpp"

namespace {

using namespace charmtree;

constexpr std::uint64_t kMaxHosts = 1000;  // patterns that expand to a million names only cost time

using charmtree::fuzz::require;

void check_hosts(const Nodelist& list) {
  require(!list.hosts.empty());
  std::unordered_set<std::string_view> names;
  std::uint64_t slots = 0;
  for (const NodelistHost& host : list.hosts) {
    require(names.insert(host.name).second);
    require(!host.name.empty() && host.name.front() != '-');
    require(host.name.find_first_of(" \t'\";$`|&<>()\\/@#") == std::string::npos);
    require(host.slots > 0 && host.options < list.options.size());
    slots += host.slots;
  }
  require(slots <= kMaxHosts);
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

/// Each host gets what belongs to it, by a nodelist that is one.
void check_host_file(std::string_view text) {
  constexpr std::uint32_t kProcesses = 77;
  auto hosts = mpiexec::read_host_file(text, "nodes", kMaxHosts);
  if (!hosts) return check_error(hosts.error());
  require(!hosts->empty());
  const auto list =
      parse_nodelist(mpiexec::nodelist_text(std::move(*hosts), kProcesses, 0), "nodes", kDefaultNodegroup);
  if (!list) return check_error(list.error());  // a login that ssh would misunderstand
  std::uint64_t slots = 0;
  for (const NodelistHost& host : list->hosts) slots += host.slots;
  require(slots > 0 && kProcesses % slots == 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_host_file(text);
  const auto list = parse_nodelist(text, "nodes", kDefaultNodegroup, kMaxHosts);
  if (!list) {
    check_error(list.error());
    return 0;
  }
  check_hosts(*list);
  check_options(*list);
  return 0;
}
