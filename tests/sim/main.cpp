// SPDX-License-Identifier: Apache-2.0
// sim: launches and whole jobs in simulated time; the same line gives the same run each time.
//
//   sim [--world NAME|FILE] [--seed S] [--seeds N] [--trees] [--once] [--trace HASH] [NAME=VALUE]...
//
//   --world   tests/sim/worlds/NAME.world, or a file; without, the defaults (an undisturbed launch)
//             `everything` draws from all of them
//   --seed    the first seed (1)
//   --seeds   so many, from there on (1)
//   --trees   also what static trees would take, on paper
//   --once    do not run it a second time to see if that is the same
//   --trace   all that happened in all seeds is to have this hash, 16 hexadecimal digits (tests/sim/traces)
//
// Every seed is run twice: the runs must be the same. Prints a line for each, and what was wrong together
// with the line that shows it again. The status is 1 if anything was wrong, 2 if the command is.
#include <fmt/core.h>
#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/sim/dice.hpp"
#include "tests/sim/mix.hpp"
#include "tests/sim/settings.hpp"
#include "tests/sim/trees.hpp"
#include "tests/sim/world.hpp"
#include "tree/io/clock.hpp"

using namespace charmtree;

namespace {

struct Command {
  std::string world;
  std::uint64_t seed = 1, seeds = 1;
  bool trees = false, once = false;
  std::string trace;
  std::vector<std::string> overrides;
};

int misused(const std::string& what) {
  fmt::print(stderr, "sim: {}\nsettings:{}\n", what, sim::describe_settings());
  return 2;
}

/// Nothing if the words make no sense.
std::optional<Command> parse(int argc, char** argv) {
  Command command;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool has_value = i + 1 < argc;
    if (word == "--trees") {
      command.trees = true;
    } else if (word == "--once") {
      command.once = true;
    } else if (word == "--world" && has_value) {
      command.world = argv[++i];
    } else if (word == "--trace" && has_value) {
      command.trace = argv[++i];
    } else if (word == "--seed" && has_value) {
      command.seed = std::strtoull(argv[++i], nullptr, 10);
    } else if (word == "--seeds" && has_value) {
      command.seeds = std::strtoull(argv[++i], nullptr, 10);
    } else if (word.front() == '-') {
      return {};
    } else {
      command.overrides.push_back(word);
    }
  }
  return command;
}

Result<sim::Assignments> read_world(const std::string& path) {
  std::ifstream file(path);
  if (!file) return Error{Errc::bad_input, Phase::options, path + ": cannot be read"};
  return sim::parse_world(std::string{std::istreambuf_iterator<char>{file}, {}});
}

/// Those that a mix draws from.
Result<sim::Worlds> all_worlds() {
  sim::Worlds worlds;
  for (const auto& entry : std::filesystem::directory_iterator{CHARMTREE_WORLDS}) {
    auto world = read_world(entry.path());
    if (!world) return world.error();
    worlds[entry.path().stem()] = std::move(*world);
  }
  return worlds;
}

Result<sim::Assignments> assignments_of(const Command& command) {
  sim::Assignments all;
  if (!command.world.empty()) {
    const bool is_file = command.world.find('/') != std::string::npos;
    auto world = read_world(is_file ? command.world : CHARMTREE_WORLDS "/" + command.world + ".world");
    if (!world) return world.error();
    all = std::move(*world);
  }
  auto overrides = sim::parse_overrides(command.overrides);
  if (!overrides) return overrides.error();
  all.insert(all.end(), overrides->begin(), overrides->end());
  return all;
}

std::string summary(const sim::Settings& settings, const sim::Outcome& outcome) {
  std::string text = fmt::format("{:g} hosts, {} bad: up {:.3f} s, ideal {:.3f} s, ratio {:.3f}",
                                 settings.hosts, outcome.failed, seconds(outcome.hosts_up),
                                 seconds(outcome.ideal), seconds(outcome.hosts_up) / seconds(outcome.ideal));
  text += fmt::format("; started {:.3f} s", seconds(outcome.spawned));
  if (outcome.table > 0)
    text += fmt::format(", gathered {:.3f} s, wired {:.3f} s, table {} bytes", seconds(outcome.gathered),
                        seconds(outcome.wired), outcome.table);
  if (outcome.groups > 0) text += fmt::format(", stacks {} bytes, {} groups", outcome.stacks, outcome.groups);
  if (outcome.status >= 0)
    text += fmt::format("; status {} at {:.3f} s", outcome.status, seconds(outcome.finished));
  return text +
         fmt::format("; depth {}, widest {}; {} events", outcome.deepest, outcome.widest, outcome.events);
}

std::string paper_trees(const sim::Settings& settings, std::uint64_t seed) {
  Random random{seed};
  sim::Hosts hosts{settings, random};
  sim::kill_inner_host(hosts, settings, random);
  std::string text;
  for (const std::uint32_t branching : {0U, 8U, 16U, 32U, 64U})
    text += fmt::format(" {} {:.3f}", branching == 0 ? "postal" : fmt::format("k{}", branching),
                        seconds(sim::static_tree(hosts, branching, settings)));
  return text;
}

/// True if all was well. What happened goes into the trace.
bool run(const Command& command, const sim::Drawn& drawn, std::uint64_t seed, std::uint64_t& trace) {
  const sim::Settings& settings = drawn.settings;
  const sim::Outcome outcome = sim::World{settings, seed}.run();
  trace = sim::hash_of(outcome.trace, trace);
  fmt::print("seed {}: {}\n", seed, summary(settings, outcome));
  if (command.trees) fmt::print("seed {}: static trees:{}\n", seed, paper_trees(settings, seed));
  std::vector<std::string> offences = outcome.offences;
  if (!command.once && settings.log == 0 && sim::World{settings, seed}.run().trace != outcome.trace)
    offences.emplace_back("the second run of the same seed was another");
  const double ratio = seconds(outcome.hosts_up) / seconds(outcome.ideal);
  if (settings.within > 0 && ratio > settings.within)
    offences.push_back(fmt::format("{:.3f} times the ideal, at most {:g}", ratio, settings.within));
  for (const std::string& line : offences) fmt::print("wrong: {}\n", line);
  if (offences.empty()) return true;
  const bool is_mix = !drawn.words.empty();  // worlds may change
  fmt::print("again: sim{} --seed {}", command.world.empty() || is_mix ? "" : " --world " + command.world,
             seed);
  for (const std::string& word : is_mix ? drawn.words : command.overrides) fmt::print(" '{}'", word);
  fmt::print("    (log=1 shows what happens)\n");
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  const auto command = parse(argc, argv);
  if (!command)
    return misused(
        "[--world NAME|FILE] [--seed S] [--seeds N] [--trees] [--once] [--trace HASH] [NAME=VALUE]...");
  const auto assignments = assignments_of(*command);
  if (!assignments) return misused(assignments.error().what);
  const auto worlds = all_worlds();
  if (!worlds) return misused(worlds.error().what);
  const auto begun = io::now();
  std::uint64_t bad = 0, trace = sim::kNothingHashed;
  for (std::uint64_t seed = command->seed; seed < command->seed + command->seeds; ++seed) {
    const auto drawn = sim::draw_world(*assignments, *worlds, seed);
    if (!drawn) return misused(drawn.error().what);
    bad += run(*command, *drawn, seed, trace) ? 0 : 1;
  }
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const double processor = static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                           static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
  const std::string traced = fmt::format("{:016x}", trace);
  const bool is_same = command->trace.empty() || command->trace == traced;
  if (!is_same)
    fmt::print("wrong: what happened has another trace than {}; if that is meant: tests/sim/traces\n",
               command->trace);
  fmt::print("{} of {} seeds wrong; {:.1f} s of real time, {:.1f} s of processor time, {} MiB; trace {}\n",
             bad, command->seeds, seconds(io::now() - begun), processor, usage.ru_maxrss / 1024, traced);
  return bad == 0 && is_same ? 0 : 1;
}
