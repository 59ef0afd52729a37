// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/silence_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "tests/sim/setting_rows.hpp"
#include "tests/sim/settings.hpp"

namespace charmtree::silence {

namespace {

using Row = sim::SettingRow<Settings>;
constexpr std::array kRows{
    Row{"hosts", &Settings::hosts},
    Row{"time", &Settings::time},
    Row{"branching", &Settings::branching},
    Row{"beat", &Settings::beat},
    Row{"gone", &Settings::gone},
    Row{"half_open", &Settings::half_open},
    Row{"frozen", &Settings::frozen},
    Row{"loss", &Settings::loss},
    Row{"rto", &Settings::rto},
    Row{"syn_rto", &Settings::syn_rto},
    Row{"link", &Settings::link},
    Row{"delayed_ack", &Settings::delayed_ack},
    Row{"starve", &Settings::starve},
    Row{"starved", &Settings::starved},
    Row{"die", &Settings::die},
    Row{"freeze", &Settings::freeze},
    Row{"cut", &Settings::cut},
    Row{"repair", &Settings::repair},
    Row{"within", &Settings::within},
    Row{"per_day", &Settings::per_day},
    Row{"counts", &Settings::counts},
    Row{"walled", &Settings::walled},
    Row{"blind", &Settings::blind},
    Row{"log", &Settings::log},
};

Error wrong(const std::string& what) {
  return {Errc::bad_input, Phase::options, what};
}

}  // namespace

Result<Settings> settings_of(const std::vector<std::string>& words) {
  const auto assignments = sim::parse_overrides(words);
  if (!assignments) return assignments.error();
  Settings settings;
  for (const auto& [name, text] : *assignments) {
    const Row* row = sim::find_row(kRows, name);
    if (row == nullptr) return wrong(fmt::format("{}: no such setting", name));
    const auto value = sim::number_in(text);
    if (!value || *value < 0) return wrong(fmt::format("{}: `{}` is no value", name, text));
    settings.*(row->member) = *value;
  }
  if (settings.hosts < 2 || settings.hosts > 100e6 || settings.time > 1e6 || settings.loss > 0.9)
    return wrong("hosts are 2 to 100,000,000, the time at most 1,000,000 s, and the loss at most 0.9");
  if (std::min({settings.beat, settings.gone, settings.rto, settings.syn_rto}) < 1)
    return wrong("a beat, `gone` and time-outs are a millisecond at least");
  return settings;
}

health::Timing timing_of(const Settings& settings) {
  return {sim::ms(settings.beat), sim::ms(settings.gone), sim::ms(settings.half_open),
          sim::ms(settings.frozen)};
}

std::string describe(const Settings& settings) {
  return sim::describe_rows(kRows, settings);
}

}  // namespace charmtree::silence
