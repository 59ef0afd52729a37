// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "tests/sim/dice.hpp"
#include "tests/sim/setting_rows.hpp"

namespace charmtree::sim {

namespace {

using Row = SettingRow<Settings>;
#define CT_ROW(name)       \
  Row {                    \
#name, &Settings::name \
  }
constexpr std::array kRows{
    CT_ROW(hosts),       CT_ROW(processes),      CT_ROW(branching),     CT_ROW(levels),
    CT_ROW(batch),       CT_ROW(kind),           CT_ROW(policy),        CT_ROW(spares),
    CT_ROW(patience),    CT_ROW(start),          CT_ROW(life),          CT_ROW(grace),
    CT_ROW(restarts),    CT_ROW(barriers),       CT_ROW(crash_process), CT_ROW(timeout),
    CT_ROW(stamps),      CT_ROW(until),          CT_ROW(latency),       CT_ROW(sigma),
    CT_ROW(stragglers),  CT_ROW(straggle),       CT_ROW(slow),          CT_ROW(slowness),
    CT_ROW(occupancy),   CT_ROW(link),           CT_ROW(fat),           CT_ROW(fat_delay),
    CT_ROW(bandwidth),   CT_ROW(receive),        CT_ROW(send),          CT_ROW(cipher),
    CT_ROW(tuple),       CT_ROW(share),          CT_ROW(client),        CT_ROW(setup),
    CT_ROW(spawn),       CT_ROW(dead),           CT_ROW(give_up),       CT_ROW(refusing),
    CT_ROW(silent),      CT_ROW(denied),         CT_ROW(broken),        CT_ROW(unready),
    CT_ROW(unspawnable), CT_ROW(inner),          CT_ROW(root_only),     CT_ROW(flaky),
    CT_ROW(touchy),      CT_ROW(startups_start), CT_ROW(startups_rate), CT_ROW(startups_full),
    CT_ROW(shared),      CT_ROW(names),          CT_ROW(crash),         CT_ROW(cut),
    CT_ROW(lost),        CT_ROW(pause),          CT_ROW(pause_for),     CT_ROW(interrupt),
    CT_ROW(root_crash),  CT_ROW(kill_process),   CT_ROW(fail_process),  CT_ROW(from),
    CT_ROW(to),          CT_ROW(notice),         CT_ROW(stubborn),      CT_ROW(window),
    CT_ROW(limit),       CT_ROW(within),         CT_ROW(log),           CT_ROW(sabotage),
    CT_ROW(by_cores),    CT_ROW(prints),         CT_ROW(print_size),    CT_ROW(print_gap),
    CT_ROW(screen),      CT_ROW(goes_on),        CT_ROW(heartbeat),     CT_ROW(orphan_after),
    CT_ROW(stop),        CT_ROW(stop_for),       CT_ROW(spool),         CT_ROW(disk),
    CT_ROW(in_place),    CT_ROW(repairs),        CT_ROW(reruns),        CT_ROW(keep_alive),
    CT_ROW(root_lost),   CT_ROW(away),           CT_ROW(together),      CT_ROW(unplugged),
    CT_ROW(asks),        CT_ROW(held),           CT_ROW(stacks),        CT_ROW(prompts),
    CT_ROW(staged),      CT_ROW(staged_size),    CT_ROW(left),          CT_ROW(links),
    CT_ROW(base_ports),  CT_ROW(rings),          CT_ROW(lookups),       CT_ROW(answers),
};
#undef CT_ROW

/// Words that stand for numbers.
const std::map<std::string_view, double> kWords{
    {"plain", 0},    {"native", 1},   {"charm", 2},    {"mpi", 3},     {"end", 0},     {"up", 1},
    {"wired", 2},    {"abort", 0},    {"drop", 1},     {"spare", 2},   {"undying", 1}, {"lingering", 2},
    {"twins", 3},    {"usurpers", 4}, {"slander", 5},  {"silence", 6}, {"mistake", 7}, {"standstill", 8},
    {"oblivion", 9}, {"theft", 10},   {"amnesia", 11}, {"haste", 12}};

Error wrong(std::string what) {
  return {Errc::bad_input, Phase::options, std::move(what)};
}

std::optional<double> number(std::string_view text) {
  if (const auto word = kWords.find(text); word != kWords.end()) return word->second;
  return number_in(std::string{text});
}

/// A number, or one drawn from a range (whole numbers if both ends are) or a choice.
std::optional<double> draw(std::string_view text, Random random) {
  if (text.find('|') != std::string_view::npos) {
    std::vector<std::string_view> choices;
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t end = std::min(text.find('|', at), text.size());
      choices.push_back(text.substr(at, end - at));
      at = end + 1;
    }
    const std::string_view choice = choices[random.below(choices.size())];
    return draw(choice, Random{random.next()});
  }
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) return number(text);
  const auto low = number(text.substr(0, dots)), high = number(text.substr(dots + 2));
  if (!low || !high || *high < *low) return {};
  if (std::floor(*low) == *low && std::floor(*high) == *high && text.find('.') == dots &&
      text.find('.', dots + 2) == std::string_view::npos)
    return *low + static_cast<double>(random.below(static_cast<std::uint64_t>(*high - *low) + 1));
  return *low + (*high - *low) * uniform(random);
}

}  // namespace

Result<Assignments> parse_world(std::string_view text) {
  Assignments assignments;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, std::min(text.find('#', at), end) - at);
    at = end + 1;
    const std::size_t name = line.find_first_not_of(" \t");
    if (name == std::string_view::npos) continue;
    const std::size_t space = std::min(line.find_first_of(" \t", name), line.size());
    const std::size_t value = std::min(line.find_first_not_of(" \t", space), line.size());
    const std::size_t last = line.find_last_not_of(" \t") + 1;
    if (value >= last) return wrong(fmt::format("`{}`: NAME VALUE expected", line));
    assignments.emplace_back(line.substr(name, space - name), line.substr(value, last - value));
  }
  return assignments;
}

Result<Assignments> parse_overrides(const std::vector<std::string>& words) {
  Assignments assignments;
  for (const std::string& word : words) {
    const std::size_t at = word.find('=');
    if (at == std::string::npos || at == 0) return wrong(fmt::format("`{}`: NAME=VALUE expected", word));
    assignments.emplace_back(word.substr(0, at), word.substr(at + 1));
  }
  return assignments;
}

Result<Settings> draw_settings(const Assignments& assignments, std::uint64_t seed) {
  Settings settings;
  for (const auto& [name, text] : assignments) {
    const Row* row = find_row(kRows, name);
    if (row == nullptr) return wrong(fmt::format("{}: no such setting", name));
    const auto value = draw(text, Random{seed * 0x9E3779B97F4A7C15ULL + hash_of(name)});
    if (!value) return wrong(fmt::format("{}: `{}` is no value", name, text));
    settings.*(row->member) = *value;
  }
  if (settings.hosts < 1 || settings.hosts > 10e6 || settings.to < settings.from)
    return wrong("hosts are 1 to 10,000,000, and `from` is not after `to`");
  settings.spares = settings.policy == 2 ? std::min(settings.spares, settings.hosts - 1) : 0;
  return settings;
}

std::optional<double> draw_value(std::string_view text, std::uint64_t seed) {
  return draw(text, Random{seed});
}

std::optional<double> usual_value(std::string_view name) {
  const Row* row = find_row(kRows, name);
  return row == nullptr ? std::nullopt : std::optional{Settings{}.*(row->member)};
}

std::vector<std::string> words_of(const Settings& settings) {
  const Settings usual;
  std::vector<std::string> words;
  for (const Row& row : kRows) {
    if (settings.*(row.member) != usual.*(row.member))
      words.push_back(
          fmt::format("{}={}", row.name, settings.*(row.member)));  // the shortest that is the same
  }
  return words;
}

std::string describe_settings() {
  return describe_rows(kRows, Settings{});
}

}  // namespace charmtree::sim
