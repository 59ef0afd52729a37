// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/mix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "tests/sim/options.hpp"
#include "tree/base/random.hpp"

namespace charmtree::sim {

namespace {

constexpr std::string_view kMix = "mix";
constexpr std::uint64_t kSalt = 0x6D69786564ULL;
constexpr int kTries = 1000;  // one of five is refused

/// What is no part of a fault or an option, but bounds a run, or is for the world that has it.
bool is_for_others(const std::string& name) {
  static constexpr std::string_view kOwn[] = {"within", "hosts", "limit", "until", "sabotage", "log", kMix};
  return std::find(std::begin(kOwn), std::end(kOwn), name) == std::end(kOwn);
}

bool is_mix(const Assignments& assignments) {
  return std::any_of(assignments.begin(), assignments.end(),
                     [](const auto& each) { return each.first == kMix; });
}

/// Of another world: with what it is there when it is not as usual, if it ever is.
void append(Assignments& all, const std::pair<std::string, std::string>& setting, Random& random) {
  constexpr int kDraws = 20;  // one that is 0 in nine of ten cases is still 0 after so many in one of eight
  for (int draws = 0; draws < kDraws; ++draws) {
    const auto value = draw_value(setting.second, random.next());
    if (!value || value == usual_value(setting.first)) continue;
    return void(all.emplace_back(setting.first, fmt::format("{}", *value)));
  }
  all.push_back(setting);
}

/// One of the others, with settings of others.
Assignments mixed(const std::vector<const Assignments*>& worlds, std::uint32_t count, Random& random) {
  const auto some = [&]() -> const Assignments& { return *worlds[random.below(worlds.size())]; };
  Assignments all = some();
  while (count > 0) {
    const Assignments& other = some();
    const auto& setting = other[random.below(other.size())];
    if (!is_for_others(setting.first)) continue;
    append(all, setting, random);
    --count;
  }
  return all;
}

Result<Settings> draw_one(const Assignments& assignments, std::uint64_t seed) {
  auto settings = draw_settings(assignments, seed);
  if (!settings) return settings;
  if (const auto options = options_of(*settings); !options) return options.error();
  return settings;
}

}  // namespace

Result<Drawn> draw_world(const Assignments& own, const Worlds& worlds, std::uint64_t seed) {
  if (!is_mix(own)) {
    auto settings = draw_one(own, seed);
    if (!settings) return settings.error();
    return Drawn{*settings, {}};
  }
  std::vector<const Assignments*> others;
  for (const auto& [name, assignments] : worlds) {
    if (!is_mix(assignments)) others.push_back(&assignments);
  }
  Random random{seed ^ kSalt};
  Error refused;
  for (int tries = 0; tries < kTries && !others.empty(); ++tries) {
    Assignments mix, rest;
    std::partition_copy(own.begin(), own.end(), std::back_inserter(mix), std::back_inserter(rest),
                        [](const auto& each) { return each.first == kMix; });
    const auto count = draw_value(mix.back().second, random.next());
    if (!count) return Error{Errc::bad_input, Phase::options, "mix: a number of settings is expected"};
    Assignments all = mixed(others, whole(*count), random);
    all.insert(all.end(), rest.begin(), rest.end());
    auto settings = draw_one(all, random.next());
    if (settings) return Drawn{*settings, words_of(*settings)};
    refused = settings.error();
  }
  return refused;
}

}  // namespace charmtree::sim
