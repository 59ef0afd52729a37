// SPDX-License-Identifier: Apache-2.0
#include "charmrun/session/debug_listener.hpp"

#include <utility>

#include "tree/base/overloaded.hpp"
#include "tree/wire/greeting.hpp"

namespace charmtree {

using What = debug::DebugOrder::What;

DebugListener::DebugListener(io::asio::io_context& io, Hooks hooks)
    : hooks_(std::move(hooks)),
      visitors_(io, {[this]() -> DebugMessage {
                       return DebugJob{wire::make_greeting(), hooks_.processes()};
                     },
                     [this](std::uint64_t ticket, DebugMessage& message) { return hear(ticket, message); },
                     [this](std::uint64_t ticket) {
                       begun_.erase(ticket);
                       hooks_.ask({ticket, {0, 0, What::end, false, {}, {}}});
                     }}) {}

bool DebugListener::hear(std::uint64_t ticket, DebugMessage& message) {
  const Overloaded act{[&](debug::DebugOrder& order) {
                         if (order.what == What::begin) begun_[ticket] = order;
                         hooks_.ask({ticket, std::move(order)});
                         return true;
                       },
                       [](auto&) { return false; }};
  return std::visit(act, message);
}

void DebugListener::has_begun(const debug::DebugOrder& order) {
  held_.add_all(order.which);
  if (held_.size() >= hooks_.processes()) std::exchange(hooks_.all_held, nullptr)();
}

void DebugListener::heard(const debug::DebugHeard& heard) {
  const auto begun = begun_.find(heard.ticket);
  if (hooks_.all_held && begun != begun_.end() && heard.up.done == begun->second.number)
    has_begun(begun->second);
  heard.over ? visitors_.send(heard.ticket, DebugOver{}) : visitors_.send(heard.ticket, heard.up);
}

}  // namespace charmtree
