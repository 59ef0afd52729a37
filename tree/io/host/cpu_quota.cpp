// SPDX-License-Identifier: Apache-2.0
// A line of /proc/self/cgroup is NUMBER:CONTROLLERS:PATH; of v2 both are `0` and empty. A group is limited by
// those above it, too.
#include "tree/io/host/cpu_quota.hpp"

#include <algorithm>
#include <sstream>
#include <string_view>
#include <vector>

#include "tree/io/surroundings.hpp"
#include "tree/wire/words.hpp"

namespace charmtree::io {

namespace {

constexpr std::size_t kGroupBytes = 64U << 10;  // of a file that describes a group

struct Quota {
  std::int64_t used = -1, period = 0;  // microseconds; -1: none
};

std::vector<std::string> words_of(const std::string& path) {
  const auto text = read_file(path, kGroupBytes);
  std::vector<std::string> words;
  if (!text) return words;
  std::istringstream in{*text};
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

Quota quota_of(const std::string& folder, bool is_second_version) {
  Quota quota;
  auto words = is_second_version ? words_of(folder + "/cpu.max") : words_of(folder + "/cpu.cfs_quota_us");
  if (!is_second_version)
    for (std::string& word : words_of(folder + "/cpu.cfs_period_us")) words.push_back(std::move(word));
  if (words.size() != 2 || !read_whole(words[0], quota.used) || !read_whole(words[1], quota.period))
    return {};
  return quota;
}

}  // namespace

std::optional<std::uint32_t> cpu_quota(const GroupSources& sources) {
  std::optional<std::uint32_t> least;
  const auto groups = read_file(sources.own, kGroupBytes);
  if (!groups) return {};
  std::istringstream lines{*groups};
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const auto names = split_list(controllers);
    const bool is_second_version = controllers.empty();
    if (!is_second_version && std::find(names.begin(), names.end(), "cpu") == names.end()) continue;
    std::string path = line.substr(second + 1);
    while (true) {
      for (const std::string& place : {controllers, std::string{is_second_version ? "unified" : "cpu"}}) {
        const Quota quota = quota_of(sources.all + "/" + place + path, is_second_version);
        if (quota.used <= 0 || quota.period <= 0) continue;
        const auto whole = static_cast<std::uint32_t>((quota.used + quota.period - 1) / quota.period);
        least = std::min(least.value_or(whole), whole);
      }
      if (path.empty()) break;
      path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
    }
  }
  return least;
}

void limit_count(proto::CpuMap& cpus, std::uint32_t most) {
  if (cpus.pus.size() > most) cpus.pus.resize(most);
  if (cpus.cores.size() > most) cpus.cores.resize(most);
}

}  // namespace charmtree::io
