// SPDX-License-Identifier: Apache-2.0
#include "charmrun/session/inspectors.hpp"

#include <csignal>
#include <utility>

namespace charmtree {

namespace {

std::function<void()> going_on(io::Runner& runner, bool held) {
  if (!held) return nullptr;
  return [&runner] { runner.dispatch(proto::UserSignal{SIGCONT}); };
}

}  // namespace

Inspectors::Inspectors(io::asio::io_context& io, io::Runner& runner, Console& console, const Sources& sources,
                       HeldFor held_for)
    : console_(console),
      stacks_(io, [&runner](stacks::StacksAsked question) { runner.dispatch(question); }),
      debug_(io,
             {sources.processes, [&runner](debug::DebugAsked asked) { runner.dispatch(std::move(asked)); },
              going_on(runner, held_for == HeldFor::prompts)}),
      tools_(io, {sources.processes,
                  [&console](const ToolListener::Which& which) { return console.places_of(which); },
                  [&runner](debug::ToolAsked asked) { runner.dispatch(std::move(asked)); }}),
      views_(io, {sources.status, sources.processes, going_on(runner, held_for == HeldFor::viewers)}) {
  console_.set_hearers(
      {[this](std::uint64_t ticket, const StackReport& report) { stacks_.seen(ticket, report); },
       [this](const debug::DebugHeard& heard) { debug_.heard(heard); },
       [this](const debug::ToolHeard& heard) { tools_.heard(heard); },
       [this](const proto::Show& action) { views_.show(action); },
       [this](proto::Tone tone, const std::string& line) { views_.say(tone, line); }});
}

void Inspectors::open(const std::string& job) {
  const auto opened = [this](const char* option, const Result<void>& result) {
    if (!result)
      console_.say(proto::Tone::verbose,
                   std::string{option} + " will not find this job: " + to_string(result.error()));
  };
  opened("++stack-trees", stacks_.open(job));
  opened("++gdb", debug_.open(job));
  opened("++exec", tools_.open(job));
  opened("++view", views_.open(job));
}

}  // namespace charmtree
