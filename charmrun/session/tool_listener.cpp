// SPDX-License-Identifier: Apache-2.0
#include "charmrun/session/tool_listener.hpp"

#include <utility>

#include "tree/wire/greeting.hpp"

namespace charmtree {

ToolListener::ToolListener(io::asio::io_context& io, Hooks hooks)
    : hooks_(std::move(hooks)),
      visitors_(io, {[this]() -> ToolMessage {
                       return ToolJob{wire::make_greeting(), hooks_.processes()};
                     },
                     [this](std::uint64_t ticket, ToolMessage& message) { return hear(ticket, message); },
                     [this](std::uint64_t ticket) {
                       wire::ToolOrder over;
                       over.what = wire::ToolOrder::What::end;
                       hooks_.ask({ticket, std::move(over)});
                     }}) {}

bool ToolListener::hear(std::uint64_t ticket, ToolMessage& message) {
  if (const auto* where = std::get_if<ToolWhere>(&message)) {
    visitors_.send(ticket, ToolPlaces{hooks_.places(where->which)});
    return true;
  }
  auto* order = std::get_if<wire::ToolOrder>(&message);
  if (order == nullptr) return false;
  hooks_.ask({ticket, std::move(*order)});
  return true;
}

void ToolListener::heard(const proto::ToolHeard& heard) {
  heard.over ? visitors_.send(heard.ticket, ToolOver{}) : visitors_.send(heard.ticket, heard.said);
}

}  // namespace charmtree
