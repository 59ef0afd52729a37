// SPDX-License-Identifier: Apache-2.0
#include "charmrun/control/debug_service.hpp"

#include <utility>

namespace charmtree::control {

using What = debug::DebugOrder::What;

DebugService::DebugService(Listener& listener, Hooks hooks) : listener_(listener), hooks_(std::move(hooks)) {
  Service service;
  service.name = kDebugService;
  service.opened = [this](ClientId client) { send(client, DebugJob{hooks_.processes()}); };
  service.received = [this](ClientId client, const wire::Frame& frame) { return receive(client, frame); };
  service.closed = [this](ClientId client) { end(client); };
  listener_.add(std::move(service));
}

bool DebugService::receive(ClientId client, const wire::Frame& frame) {
  DebugMessage message;
  if (!decode(frame, message)) return false;
  auto* order = std::get_if<debug::DebugOrder>(&message);
  if (order == nullptr) return false;
  if (order->what == What::begin) begun_[client] = *order;
  hooks_.ask({client, std::move(*order)});
  return true;
}

void DebugService::send(ClientId client, const DebugMessage& message) {
  if (auto frame = encode(message)) listener_.send(client, std::move(*frame));
}

void DebugService::end(ClientId client) {
  begun_.erase(client);
  hooks_.ask({client, {0, 0, What::end, false, {}, {}}});
}

void DebugService::has_begun(const debug::DebugOrder& order) {
  held_.add_all(order.which);
  if (held_.size() >= hooks_.processes()) std::exchange(hooks_.all_held, nullptr)();
}

void DebugService::answer(const debug::DebugHeard& answer) {
  const auto begun = begun_.find(answer.ticket);
  if (hooks_.all_held && begun != begun_.end() && answer.up.done == begun->second.number)
    has_begun(begun->second);
  answer.over ? send(answer.ticket, DebugOver{}) : send(answer.ticket, answer.up);
}

}  // namespace charmtree::control
