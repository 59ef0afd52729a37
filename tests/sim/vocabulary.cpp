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

/// As it is declared, without its namespace.
template <class T>
constexpr std::string_view type_name() {
  std::string_view text = __PRETTY_FUNCTION__;
  text.remove_prefix(text.find("T = ") + 4);
  text = text.substr(0, text.find_first_of(";]"));
  return text.substr(text.rfind(':') + 1);
}

template <class... T>
std::string name_of(const AnyOf<T...>& value) {
  return dispatch([]<class Each>(const Each&) { return std::string{type_name<Each>()}; }, value);
}

template <class... T>
std::uint64_t mark_of(const AnyOf<T...>& value) {
  static constexpr std::array kMarks{hash_of(type_name<T>())...};
  return kMarks[value.index()];
}

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
  std::string text = fmt::format("<- {}", name_of(static_cast<const AnyEvent&>(event)));
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
  std::string text = fmt::format("   -> {}", name_of(static_cast<const AnyAction&>(action)));
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
  return mark_of(static_cast<const AnyEvent&>(event));
}
std::uint64_t mark(const Action& action) {
  return mark_of(static_cast<const AnyAction&>(action));
}
std::uint64_t mark(const wire::Message& message) {
  return hash_of(message.type().name);
}

}  // namespace charmtree::sim
