// SPDX-License-Identifier: Apache-2.0
// sim: a launch in simulated time, from one line that gives the same run each time.
//
//   sim [NAME=VALUE]...     hosts, processes (per host), branching, levels, batch, sigma, dead, refusing,
//   seed, seeds (so many,
//                           from `seed` on), latency and occupancy (milliseconds), within (fail if a launch
//                           takes so many times the bound, or the ideal pool's time where latencies differ)
//
// Every launch is run twice: the runs must be the same. Prints a line for each, the status is 1 if anything
// was wrong.
#include <fmt/core.h>

#include <cstdlib>
#include <map>
#include <string>

#include "tests/sim/world.hpp"

using namespace charmtree;

namespace {

using Values = std::map<std::string, double>;

Duration milliseconds(double value) {
  return Duration{static_cast<Duration::rep>(value * 1e6)};
}

sim::Config make_config(const Values& values) {
  sim::Config config;
  config.hosts = static_cast<std::uint32_t>(values.at("hosts"));
  config.processes_per_host = static_cast<std::uint32_t>(values.at("processes"));
  config.shape = {static_cast<std::uint32_t>(values.at("branching")),
                  static_cast<std::uint32_t>(values.at("levels"))};
  config.batch = static_cast<std::uint32_t>(values.at("batch"));
  config.sigma = values.at("sigma");
  config.dead = values.at("dead");
  config.refusing = values.at("refusing");
  config.postal = {milliseconds(values.at("occupancy")), milliseconds(values.at("latency"))};
  return config;
}

/// True if all was well.
bool launch(const sim::Config& config, double within) {
  const sim::Outcome outcome = sim::World{config}.run();
  const double ratio = seconds(outcome.hosts_up) / seconds(outcome.ideal);
  fmt::print(
      "seed {}: {} of {} hosts up in {:.3f} s, {:.3f} times the ideal {:.3f} s; depth {}, widest {}; {} "
      "events\n",
      config.seed, outcome.launchers, config.hosts, seconds(outcome.hosts_up), ratio, seconds(outcome.ideal),
      outcome.deepest, outcome.widest, outcome.events);
  bool good = outcome.wrong.empty();
  for (const std::string& line : outcome.wrong) fmt::print("wrong: {}\n", line);
  if (sim::World{config}.run().trace != outcome.trace) {
    fmt::print("wrong: the second run of the same seed was another\n");
    good = false;
  }
  if (within > 0 && ratio > within) {
    fmt::print("wrong: more than {} times the ideal\n", within);
    good = false;
  }
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  Values values{{"hosts", 1000},  {"processes", 1},   {"branching", 0}, {"levels", 0}, {"batch", 0},
                {"sigma", 0},     {"dead", 0},        {"refusing", 0},  {"seed", 1},   {"seeds", 1},
                {"latency", 250}, {"occupancy", 2.4}, {"within", 0}};
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const std::size_t at = word.find('=');
    const auto known = values.find(word.substr(0, at));
    if (at == std::string::npos || known == values.end()) {
      fmt::print(stderr, "sim: {}: not NAME=VALUE; names:", word);
      for (const auto& [name, value] : values) fmt::print(stderr, " {} ({})", name, value);
      fmt::print(stderr, "\n");
      return 2;
    }
    known->second = std::atof(word.c_str() + at + 1);
  }
  sim::Config config = make_config(values);
  bool good = true;
  for (double i = 0; i < values.at("seeds"); ++i) {
    config.seed = static_cast<std::uint64_t>(values.at("seed") + i);
    good = launch(config, values.at("within")) && good;
  }
  return good ? 0 : 1;
}
