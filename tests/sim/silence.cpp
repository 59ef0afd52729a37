// SPDX-License-Identifier: Apache-2.0
// silence: whether launchers that watch each other ever take a host for dead that lives, and how soon they
// know of one that died; in simulated time, the same line gives the same run each time.
//
//   silence [--seed S] [NAME=VALUE]...
//
// Prints what was seen of silence, how far it stayed from verdicts, and how many false ones are to be
// expected of a million hosts in a day. The status is 1 if anything was wrong, 2 if the command is.
#include <fmt/core.h>
#include <sys/resource.h>

#include <cstdlib>

#include "tests/sim/setting_rows.hpp"
#include "tests/sim/silence_expectation.hpp"
#include "tests/sim/silence_report.hpp"
#include "tests/sim/silence_settings.hpp"
#include "tests/sim/silence_world.hpp"
#include "tree/io/clock.hpp"

using namespace charmtree;

namespace {

int misused(const std::string& what) {
  fmt::print(stderr, "silence: {}\nsilence [--seed S] [NAME=VALUE]...; settings:{}\n", what,
             silence::describe({}));
  return 2;
}

std::string used(Duration real) {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return fmt::format("{:.0f} s of real time, {} MiB", seconds(real), usage.ru_maxrss / 1024);
}

}  // namespace

int main(int argc, char** argv) {
  const auto [seed, words] = sim::seeded(argc, argv);
  for (const std::string& word : words) {
    if (word.starts_with('-')) return misused(word + ": no such option");
  }
  const auto settings = silence::settings_of(words);
  if (!settings) return misused(settings.error().what);
  const auto begun = io::now();
  silence::World world{*settings, seed};
  world.run();
  const silence::Record& record = world.record();
  const silence::Expectation expected = silence::expect(*settings, record);
  fmt::print("seed {}:{}\n{} messages, {} events, {}\n", seed, silence::describe(*settings), record.messages,
             world.events(), used(io::now() - begun));
  fmt::print("{}{}", silence::tables(*settings, record), expected.text);
  bool wrong = world.offended() > 0;
  for (const std::string& offence : world.offences()) fmt::print("wrong: {}\n", offence);
  if (world.offended() > world.offences().size()) fmt::print("wrong: {} things in all\n", world.offended());
  if (settings->per_day > 0 && expected.text.empty()) {
    fmt::print("wrong: too little was seen to say how many false verdicts a day are to be expected\n");
    wrong = true;
  } else if (settings->per_day > 0 && expected.at_most > settings->per_day) {
    fmt::print("wrong: up to {:.2g} false verdicts a day are to be expected, at most {:g} may be\n",
               expected.at_most, settings->per_day);
    wrong = true;
  }
  return wrong ? 1 : 0;
}
