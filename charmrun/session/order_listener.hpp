// SPDX-License-Identifier: Apache-2.0
// Where `charmrun ++kill` and `++detach` find the root of a running job: an abstract unix-domain socket, as
// that of ++status (charmrun/session/status_listener.hpp). Whoever connects, if the same user, says one
// letter and is told whether that is done; the connection ends when the root does. Both ends check whose the
// other is, and a name that another user has taken stops nobody (io::Listener::open_to_seekers).
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "tree/base/result.hpp"
#include "tree/base/time.hpp"
#include "tree/io/asio.hpp"
#include "tree/io/listener.hpp"

namespace charmtree {

enum class Order : char { kill = 'k', detach = 'd' };

class OrderListener {
public:
  /// Connections at a time; whoever says nothing for kPatience is let go.
  static constexpr std::size_t kMost = 16;
  static constexpr Duration kPatience = 5s;

  /// `obey` is called from the loop; its error is told to who has given the order.
  using Obey = std::function<Result<void>(Order)>;
  OrderListener(io::asio::io_context& io, Obey obey);
  OrderListener(const OrderListener&) = delete;
  OrderListener& operator=(const OrderListener&) = delete;
  ~OrderListener();

  /// Error spawn_failed. A job can do without.
  Result<void> open(const std::string& job);

private:
  class Visitor;
  void admit(int fd);
  std::string answer(char letter);

  io::asio::io_context& io_;
  Obey obey_;
  io::Listener listener_;
  std::set<std::shared_ptr<Visitor>> visitors_;
};

/// A root of that job is on this machine, though it may be suspended.
bool is_held_here(const std::string& job);

/// Gives the root of that job on this machine an order, and returns when it has gone. Error refused: nobody
/// answers, or what the root says to it.
Result<void> give_order(const std::string& job, Order order);

}  // namespace charmtree
