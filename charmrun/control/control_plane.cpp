// SPDX-License-Identifier: Apache-2.0
#include "charmrun/control/control_plane.hpp"

#include <csignal>
#include <utility>

#include "charmrun/control/status_service.hpp"

namespace charmtree::control {

namespace {

/// For clients that read the end of the job, all together.
constexpr Duration kLastWords = 200ms;

std::function<void()> going_on(io::Runner& runner, bool held) {
  if (!held) return nullptr;
  return [&runner] { runner.dispatch(proto::UserSignal{SIGCONT}); };
}

}  // namespace

ControlPlane::ControlPlane(io::asio::io_context& io, Listener& listener, io::Runner& runner, Console& console,
                           const Job& job, HeldFor held_for)
    : listener_(listener),
      stacks_(listener, [&runner](stacks::StacksAsked question) { runner.dispatch(question); }),
      debug_(listener,
             {job.processes, [&runner](debug::DebugAsked asked) { runner.dispatch(std::move(asked)); },
              going_on(runner, held_for == HeldFor::prompts)}),
      tools_(listener,
             {job.processes, [&console](const ToolService::Which& which) { return console.places_of(which); },
              [&runner](debug::ToolAsked asked) { runner.dispatch(std::move(asked)); }}),
      views_(io, listener, {job.status, job.processes, going_on(runner, held_for == HeldFor::viewers)}) {
  serve_status(listener, job.status);
  serve_orders(listener, job.obey);
  listener.set_note([&console](const std::string& line) { console.say(proto::Tone::verbose, line); });
  console.set_hearers(
      {[this](std::uint64_t ticket, const StackReport& report) { stacks_.answer(ticket, report); },
       [this](const debug::DebugHeard& answer) { debug_.answer(answer); },
       [this](const debug::ToolHeard& answer) { tools_.answer(answer); },
       [this](const proto::Show& action) { views_.show(action); },
       [this](proto::Tone tone, const std::string& line) { views_.say(tone, line); }});
}

void ControlPlane::finish(const proto::Finish& result) {
  views_.finish(result);
  listener_.drain({}, kLastWords);
  listener_.finish();
}

}  // namespace charmtree::control
