// SPDX-License-Identifier: Apache-2.0
#include "charmrun/session/tool_listener.hpp"

#include <utility>

#include "tree/base/overloaded.hpp"
#include "tree/wire/greeting.hpp"

namespace charmtree {

ToolListener::ToolListener(io::asio::io_context& io, Hooks hooks)
    : hooks_(std::move(hooks)),
      visitors_(io, {[this]() -> ToolMessage {
                       return ToolJob{wire::make_greeting(), hooks_.processes()};
                     },
                     [this](std::uint64_t ticket, ToolMessage& message) { return hear(ticket, message); },
                     [this](std::uint64_t ticket) {
                       debug::ToolOrder over;
                       over.what = debug::ToolOrder::What::end;
                       hooks_.ask({ticket, std::move(over)});
                     }}) {}

bool ToolListener::hear(std::uint64_t ticket, ToolMessage& message) {
  const Overloaded act{[&](ToolWhere& where) {
                         visitors_.send(ticket, ToolPlaces{hooks_.places(where.which)});
                         return true;
                       },
                       [&](debug::ToolOrder& order) {
                         hooks_.ask({ticket, std::move(order)});
                         return true;
                       },
                       [](auto&) { return false; }};
  return std::visit(act, message);
}

void ToolListener::heard(const debug::ToolHeard& heard) {
  heard.over ? visitors_.send(heard.ticket, ToolOver{}) : visitors_.send(heard.ticket, heard.said);
}

}  // namespace charmtree
