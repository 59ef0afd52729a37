// SPDX-License-Identifier: Apache-2.0
// The service `orders` (++kill, ++detach, ++end): a client gives an order and gets Obeyed or Refused. After
// Obeyed the connection lasts until charmrun ends, so the client knows when that is. Any version of charmrun
// may give the orders that are here.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <variant>

#include "charmrun/control/listener.hpp"
#include "tree/base/result.hpp"
#include "tree/wire/frame.hpp"

namespace charmtree::control {

inline constexpr std::string_view kOrderService = "orders";

enum class Order : std::uint8_t {
  kill,    // end the job, or the session
  detach,  // leave a job of ++keep-alive to itself
};

/// The client's message.
struct OrderRequest {
  Order order = Order::kill;
};
/// The answer, unless it is Refused.
struct Obeyed {};
using OrderMessage = std::variant<Obeyed, OrderRequest>;
Result<std::string> encode(const OrderMessage& message);
bool decode(const wire::Frame& frame, OrderMessage& message);

/// Adds the service to the listener. `obey` is called from the loop; the client gets its error.
void serve_orders(Listener& listener, std::function<Result<void>(Order)> obey);

/// Gives an order to the charmrun of that job on this machine, and returns when that has ended. Error
/// refused: it does not answer, or refuses.
Result<void> give_order(const std::string& job, Order order);

}  // namespace charmtree::control
