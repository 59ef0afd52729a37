// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/vocabulary.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "kvs/fence/messages.hpp"
#include "tests/sim/dice.hpp"

namespace charmtree::sim {

using namespace proto;

namespace {

std::string describe(const wire::Message& message) {
  std::string text{message.type().name};
  if (const auto* facts = get_if<wire::Facts>(&message))
    text += fmt::format(" up {}, failed {}, blocks {}, registered {}, ended {}, exited {}, exits {}",
                        facts->hosts_up.size(), facts->hosts_failed.size(), facts->blocks.size(),
                        facts->registered, facts->ended, facts->exited_ok, facts->exits.size());
  if (const auto* assign = get_if<wire::Assign>(&message))
    text += fmt::format(" of {}", assign->hosts.size());
  if (const auto* ask = get_if<wire::Ask>(&message)) text += fmt::format(" for {}", ask->hosts);
  if (const auto* output = get_if<wire::Output>(&message))
    text +=
        fmt::format(" {} of {}{}", output->number, output->process, output->is_oldest ? ", the oldest" : "");
  if (const auto* taken = get_if<wire::OutputTaken>(&message)) {
    for (const auto& [process, number] : taken->processes) text += fmt::format(" {} of {}", number, process);
  }
  if (const auto* up = get_if<kvs::FenceUp>(&message))
    text += fmt::format(" {}, {} more of epoch {}", up->fence.number, up->processes, up->epoch);
  if (const auto* down = get_if<kvs::FenceDown>(&message))
    text += fmt::format(" {} {}", down->fence.number, down->failure);
  if (const auto* end = get_if<wire::End>(&message))
    text += fmt::format(" mode {}", static_cast<int>(end->mode));
  return text;
}

}  // namespace

std::string describe(const Event& event) {
  std::string text = fmt::format("<- {}", event.type().name);
  if (const auto* up = get_if<LinkUp>(&event)) text += fmt::format(" {}", up->link);
  if (const auto* failed = get_if<LoginFailed>(&event))
    text += fmt::format(" {}: {}", failed->link, to_string(failed->error));
  if (const auto* message = get_if<LinkMessage>(&event))
    text += fmt::format(" {} {}", message->link, describe(message->message));
  if (const auto* down = get_if<LinkDown>(&event))
    text += fmt::format(" {}: {}", down->link, down->error.what);
  if (const auto* exit = get_if<ProcessExited>(&event))
    text += fmt::format(" {}: code {}, signal {}", exit->process, exit->code, exit->signal);
  return text;
}

std::string describe(const Action& action) {
  std::string text = fmt::format("   -> {}", action.type().name);
  if (const auto* login = get_if<Login>(&action))
    text += fmt::format(" {}: host {}", login->link, login->host.index);
  if (const auto* send = get_if<Send>(&action))
    text += fmt::format(" {} {}", send->link, describe(send->message));
  if (const auto* say = get_if<Say>(&action)) text += fmt::format(": {}", say->text);
  if (const auto* spawn = get_if<Spawn>(&action)) text += fmt::format(" {}", spawn->process);
  if (const auto* finish = get_if<Finish>(&action)) text += fmt::format(" {}", finish->status);
  return text;
}

std::uint64_t mark(const Event& event) {
  return hash_of(event.type().name);
}
std::uint64_t mark(const Action& action) {
  return hash_of(action.type().name);
}
std::uint64_t mark(const wire::Message& message) {
  return hash_of(message.type().name);
}

}  // namespace charmtree::sim
