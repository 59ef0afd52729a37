// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/options.hpp"

#include <fmt/format.h>

#include "charmrun/plan/placement.hpp"

namespace charmtree::sim {

namespace {

constexpr std::uint32_t kCharm = 2, kMpi = 3, kSpare = 2;

Error wrong(std::string what) {
  return {Errc::bad_input, Phase::options, std::move(what)};
}

/// One word after the other: an option with its value.
class Words {
public:
  void say(const char* option) { words_.emplace_back(option); }
  void say(const char* option, double value) {
    words_.emplace_back(option);
    words_.push_back(fmt::format("{}", value));
  }
  void say(const char* option, std::string value) {
    words_.emplace_back(option);
    words_.push_back(std::move(value));
  }
  void say_seconds(const char* option, double milliseconds) { say(option, milliseconds / 1000); }
  const std::vector<std::string>& all() const { return words_; }

private:
  std::vector<std::string> words_{"charmrun"};
};

/// How the job is started.
void say_launch(const Settings& settings, Words& words) {
  if (settings.by_cores != 0)
    words.say("++processPerCore", 1);
  else
    words.say("++n", (settings.hosts - settings.spares) * whole(settings.processes));
  if (settings.branching != 0) words.say("++branching", settings.branching);
  if (settings.levels != 0) words.say("++levels", settings.levels);
  if (settings.batch != 0) words.say("++batch", settings.batch);
  if (settings.policy == 1) words.say("++on-host-failure", "drop");
  if (settings.policy == kSpare && settings.spares > 0) {  // without any, as in a session
    words.say("++on-host-failure", "spare");
    words.say("++spare-hosts", settings.spares);
  }
  if (settings.patience != 0) words.say_seconds("++host-patience", settings.patience);
  words.say_seconds("++timeout", settings.timeout);
}

/// What becomes of it when something is lost. A choice that is made twice is refused for that.
void say_recovery(const Settings& settings, Words& words) {
  if (settings.goes_on != 0) words.say("++on-failure", "continue");
  if (settings.in_place != 0) words.say("++on-failure", "restart");
  if (settings.reruns != 0) {
    words.say("++on-failure", "restart");
    words.say("++restart-args", "again");
    words.say("++max-restarts", settings.reruns);
  }
  if (settings.restarts != 0) words.say("++syncft");
  if (settings.keep_alive != 0) words.say_seconds("++keep-alive", settings.keep_alive);
}

}  // namespace

wire::ProgramTraits traits_of(const Settings& settings) {
  wire::ProgramTraits traits;
  traits.elf = true;
  traits.netstart = traits.non_smp = whole(settings.kind) == kCharm;
  traits.mpich = whole(settings.kind) == kMpi;
  traits.restarts = settings.restarts != 0 && traits.netstart;
  return traits;
}

Result<Options> options_of(const Settings& settings) {
  if (whole(settings.kind) == kMpi && settings.prints != 0)
    return wrong("prints: MPI programs print nothing");
  Words words;
  say_launch(settings, words);
  say_recovery(settings, words);
  words.say_seconds("++grace", settings.grace);
  if (settings.heartbeat == 0) {
    words.say("++heartbeat", -1);
  } else {
    words.say_seconds("++heartbeat", settings.heartbeat);
    words.say_seconds("++orphan-after", settings.orphan_after);
  }
  words.say("++spool", fmt::format("{}", whole(settings.spool)));
  words.say("./app");
  auto options = parse_options(words.all(), {});
  if (!options) return options.error();
  const std::vector<std::uint32_t> slots(whole(settings.hosts), 1);
  const auto placement = place(*options, slots);
  if (!placement) return placement.error();
  ProgramRules rules{*options, [&] { return traits_of(settings); }, [] { return wire::Mpi::none; }};
  if (auto good = rules.check(*placement); !good) return good.error();
  const wire::Recovery recovery = recovery_of(*options, traits_of(settings));
  if ((recovery == wire::Recovery::in_place) != (settings.in_place != 0))
    return wrong("in_place: such a program is started again as a whole");
  if (is_by_program(recovery) != (settings.restarts != 0))
    return wrong("restarts: this program is started again as a whole");
  // ++attach finds the jobs that are kept alive, and no others.
  if (settings.root_lost > 0 && settings.keep_alive == 0)
    return wrong("root_lost: nobody takes over a job that is not kept alive");
  return options;
}

}  // namespace charmtree::sim
