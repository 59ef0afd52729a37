// SPDX-License-Identifier: Apache-2.0
#include "charmrun/control/order_service.hpp"

#include <utility>

#include "charmrun/control/client.hpp"
#include "charmrun/control/control_socket.hpp"
#include "charmrun/control/framing.hpp"
#include "tree/io/clock.hpp"

namespace charmtree::wire {
template <>
inline constexpr control::Order kLast<control::Order> = control::Order::detach;
CT_MEMBERS(control::OrderRequest, s.order)
CT_MEMBERS(control::Obeyed, )
}  // namespace charmtree::wire

namespace charmtree::control {

namespace {
constexpr Duration kObeyWithin = 5s;  // limit of a client for the answer, and of charmrun for the order
}  // namespace

Result<std::string> encode(const OrderMessage& message) {
  return encode_message(message);
}

bool decode(const wire::Frame& frame, OrderMessage& message) {
  return decode_message(frame, message);
}

void serve_orders(Listener& listener, std::function<Result<void>(Order)> obey) {
  Service service;
  service.name = kOrderService;
  service.serves = Service::Serves::any_version;
  service.max_clients = 16;
  service.patience = kObeyWithin;
  service.opened = [](ClientId) {};
  service.received = [&listener, obey = std::move(obey)](ClientId client, const wire::Frame& frame) {
    OrderMessage message;
    if (!decode(frame, message)) return false;
    const auto* request = std::get_if<OrderRequest>(&message);
    if (request == nullptr) return false;
    const auto obeyed = obey(request->order);
    if (!obeyed)
      listener.refuse(client, obeyed.error());
    else if (auto answer = encode(Obeyed{}))
      listener.send(client, std::move(*answer));
    return true;
  };
  service.closed = [](ClientId) {};
  listener.add(std::move(service));
}

Result<void> give_order(const std::string& job, Order order) {
  auto client = open_service(job, kOrderService);
  if (!client) return client.error();
  const auto request = encode(OrderRequest{order});
  if (!request || !client->send(*request)) return no_answer(job);
  const auto answer = receive<OrderMessage>(*client, io::now() + kObeyWithin);
  if (!answer) return answer.error();
  if (!answer->has_value()) return no_answer(job);
  if (!std::holds_alternative<Obeyed>(**answer)) return not_understood();
  while (read_some({&*client, 1}, kNever)) continue;  // until the end of charmrun, which has no limit
  return {};
}

}  // namespace charmtree::control
