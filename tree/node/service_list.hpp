// SPDX-License-Identifier: Apache-2.0
// A list of services, and their components on one launcher. A service is a struct with
//   using Messages = wire::MessageList<...>;   that no other service has
//   using Launcher = ...;                      its component: a class as tree/turn/turn.hpp describes it
// A message is handled by the component of its service, found in a table by the message's number. A component
// that lacks a handler for one of its messages does not compile.
#pragma once

#include <array>
#include <cstdint>
#include <tuple>
#include <utility>

#include "tree/turn/turn.hpp"
#include "tree/wire/message.hpp"

namespace charmtree::node {

template <class... Services>
struct ServiceList {
  using Messages = JoinedLists<typename Services::Messages...>;
};

template <class Component, class Notice>
concept Handles = requires(Component& component, const Notice& notice, proto::Turn& turn) {
  component.on(notice, turn);
};

template <class List>
class Components;
template <class... Services>
class Components<ServiceList<Services...>> {
public:
  /// Handles a message from the parent. Returns false if it is no service's.
  bool down(const wire::Message& message, proto::Turn& turn) {
    static constexpr std::array<Down, kNumbers> kHandlers = table<Down, DownHandler>();
    const Down handler = kHandlers[message.number()];
    if (handler != nullptr) handler(*this, message, turn);
    return handler != nullptr;
  }
  /// Handles a message from the child at `link`. Returns false if it is no service's.
  bool up(proto::LinkId link, wire::Message& message, proto::Turn& turn) {
    static constexpr std::array<Up, kNumbers> kHandlers = table<Up, UpHandler>();
    const Up handler = kHandlers[message.number()];
    if (handler != nullptr) handler(*this, link, message, turn);
    return handler != nullptr;
  }
  /// Passes a notice to the components that have a handler for it.
  template <class Notice>
  void notify(const Notice& notice, proto::Turn& turn) {
    static_assert((Handles<typename Services::Launcher, Notice> || ...), "no component handles this notice");
    (notify_one<Services>(notice, turn), ...);
  }
  /// Does what is due at the end of a turn, in the order of the list.
  void turn(proto::Turn& turn) { (of<Services>().turn(turn), ...); }
  Instant next_deadline() const {
    Instant deadline = kNever;
    ((deadline = earlier(deadline, deadline_of(of<Services>()))), ...);
    return deadline;
  }

  template <class Service>
  typename Service::Launcher& of() {
    return std::get<typename Service::Launcher>(all_);
  }
  template <class Service>
  const typename Service::Launcher& of() const {
    return std::get<typename Service::Launcher>(all_);
  }

private:
  static constexpr std::size_t kNumbers = UINT8_MAX + 1;
  using Down = void (*)(Components&, const wire::Message&, proto::Turn&);
  using Up = void (*)(Components&, proto::LinkId, wire::Message&, proto::Turn&);

  template <class Service, class M>
  struct DownHandler {
    static constexpr bool kHandles = M::kRoute == wire::Route::down;
    static void handle(Components& all, const wire::Message& message, proto::Turn& turn) {
      all.of<Service>().down(message.as<M>(), turn);
    }
  };
  template <class Service, class M>
  struct UpHandler {
    static constexpr bool kHandles = M::kRoute != wire::Route::down;
    static void handle(Components& all, proto::LinkId link, wire::Message& message, proto::Turn& turn) {
      all.of<Service>().up(link, std::move(message.as<M>()), turn);
    }
  };

  template <class Function, template <class, class> class Handler>
  static constexpr std::array<Function, kNumbers> table() {
    std::array<Function, kNumbers> handlers{};
    (enter<Handler, Services>(handlers, typename Services::Messages{}), ...);
    return handlers;
  }
  template <template <class, class> class Handler, class Service, class Function, wire::IsMessage... Ms>
  static constexpr void enter(std::array<Function, kNumbers>& handlers, wire::MessageList<Ms...>) {
    (enter_one<Handler<Service, Ms>>(handlers, Ms::kNumber), ...);
  }
  template <class Handler, class Function>
  static constexpr void enter_one(std::array<Function, kNumbers>& handlers, std::uint8_t number) {
    if constexpr (Handler::kHandles) handlers[number] = Handler::handle;
  }

  template <class Service, class Notice>
  void notify_one(const Notice& notice, proto::Turn& turn) {
    if constexpr (Handles<typename Service::Launcher, Notice>) of<Service>().on(notice, turn);
  }
  static Instant deadline_of(const auto& component) {
    if constexpr (requires { component.next_deadline(); })
      return component.next_deadline();
    else
      return kNever;
  }

  std::tuple<typename Services::Launcher...> all_;
};

}  // namespace charmtree::node
