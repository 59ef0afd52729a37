// SPDX-License-Identifier: Apache-2.0
#include "charmrun/control/tool_service.hpp"

#include <utility>

#include "tree/base/overloaded.hpp"

namespace charmtree::control {

ToolService::ToolService(Listener& listener, Hooks hooks) : listener_(listener), hooks_(std::move(hooks)) {
  Service service;
  service.name = kToolService;
  service.opened = [this](ClientId client) { send(client, ToolJob{hooks_.processes()}); };
  service.received = [this](ClientId client, const wire::Frame& frame) { return receive(client, frame); };
  service.closed = [this](ClientId client) { end(client); };
  listener_.add(std::move(service));
}

bool ToolService::receive(ClientId client, const wire::Frame& frame) {
  ToolMessage message;
  if (!decode(frame, message)) return false;
  const Overloaded act{[&](ToolWhere& where) {
                         send(client, ToolPlaces{hooks_.places(where.which)});
                         return true;
                       },
                       [&](debug::ToolOrder& order) {
                         hooks_.ask({client, std::move(order)});
                         return true;
                       },
                       [](auto&) { return false; }};
  return std::visit(act, message);
}

void ToolService::send(ClientId client, const ToolMessage& message) {
  if (auto frame = encode(message)) listener_.send(client, std::move(*frame));
}

void ToolService::end(ClientId client) {
  debug::ToolOrder order;
  order.what = debug::ToolOrder::What::end;
  hooks_.ask({client, std::move(order)});
}

void ToolService::answer(const debug::ToolHeard& answer) {
  answer.over ? send(answer.ticket, ToolOver{}) : send(answer.ticket, answer.said);
}

}  // namespace charmtree::control
