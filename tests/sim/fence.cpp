// SPDX-License-Identifier: Apache-2.0
// fence: how long a fence of very many processes takes, or an exchange by one of the strategies of
// ct_exchange_start, or one of queue pairs, in simulated time; the same line gives the same run each time.
//
//   fence [--seed S] [NAME=VALUE]...
//
// The status is 1 if anything was wrong, 2 if the command is.
#include <fmt/core.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/sim/fence_world.hpp"
#include "tests/sim/setting_rows.hpp"
#include "tree/io/clock.hpp"
#include "tree/wire/node_table.hpp"

using namespace charmtree;

namespace {

using Row = sim::SettingRow<fence::Settings>;
constexpr std::array kRows{
    Row{"hosts", &fence::Settings::hosts},         Row{"processes", &fence::Settings::processes},
    Row{"bytes", &fence::Settings::bytes},         Row{"alike", &fence::Settings::alike},
    Row{"branching", &fence::Settings::branching}, Row{"within", &fence::Settings::within},
    Row{"strategy", &fence::Settings::strategy},
};

int misused(const std::string& what) {
  fmt::print(stderr, "fence: {}\nfence [--seed S] [NAME=VALUE]...; settings:{}\n", what,
             sim::describe_rows(kRows, fence::Settings{}));
  return 2;
}

void print(const fence::Settings& settings, const fence::World& world, std::uint64_t seed, Duration real) {
  const fence::World::Record& record = world.record();
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  fmt::print("seed {}:{}\n", seed, sim::describe_rows(kRows, settings));
  fmt::print("{} messages, {:.1f} s of real time, {} MiB; at most {} levels, and {} children\n",
             record.messages, seconds(real), usage.ru_maxrss / 1024, world.depth(), world.most_children());
  fmt::print("given {:.3f} MB, which packed are {:.3f}\n", static_cast<double>(record.given) / 1e6,
             static_cast<double>(record.packed) / 1e6);
  fmt::print("all at the root after {:.4f} s, on every host after {:.4f} s\n", seconds(record.up),
             seconds(record.end));
  fmt::print(
      "{} requests of processes, {} asks{}; {} bytes over the busiest link, {:.4f} s of the busiest "
      "launcher's "
      "time, {:.4f} s of all launchers'\n",
      record.requests, record.asks, record.is_counted ? " (counted, not simulated)" : "", record.link,
      seconds(record.busiest), seconds(record.all_busy));
  if (record.said > 0)
    fmt::print("{} bytes are said by processes, {:.1f} by each\n", record.said,
               static_cast<double>(record.said) / settings.processes);
  if (record.given == 0) return;
  fmt::print("bound of these links {:.4f} s: times {:.3f}; of any links {:.4f} s: times {:.3f}\n",
             seconds(world.bound()), seconds(record.end) / seconds(world.bound()), seconds(world.floor()),
             seconds(record.end) / seconds(world.floor()));
}

}  // namespace

int main(int argc, char** argv) {
  const auto [seed, words] = sim::seeded(argc, argv);
  const auto assignments = sim::parse_overrides(words);
  if (!assignments) return misused(assignments.error().what);
  fence::Settings settings;
  for (const auto& [name, text] : *assignments) {
    const Row* row = sim::find_row(kRows, name);
    const auto value = sim::number_in(text);
    if (row == nullptr || !value || *value < 0)
      return misused(fmt::format("{}={} makes no sense", name, text));
    settings.*(row->member) = *value;
  }
  if (settings.strategy > 6) return misused("there are strategies 0 to 6");
  if (settings.hosts < 1 || settings.processes < settings.hosts || settings.processes > wire::kMaxProcesses)
    return misused("each host has a process at least");
  const Instant begun = io::now();
  fence::World world{settings, seed};
  world.run();
  print(settings, world, seed, io::now() - begun);
  for (const std::string& each : world.record().wrong) fmt::print("WRONG: {}\n", each);
  const bool is_late =
      settings.within > 0 && seconds(world.record().end) > settings.within * seconds(world.bound());
  if (is_late) fmt::print("WRONG: it took more than {:g} times the bound\n", settings.within);
  return is_late || !world.record().wrong.empty() ? 1 : 0;
}
