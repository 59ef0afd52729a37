// SPDX-License-Identifier: Apache-2.0
// A list of services, and their components on one launcher and at the root. A service is a struct with
//   using Messages = wire::MessageList<...>;   that no other service has
//   using Launcher = ...;                      its component on each launcher (tree/turn/turn.hpp)
// and, as far as it has them,
//   using Root = ...;                          its component at the root (tree/job/root_turn.hpp), which is
//                                              made of the job if it can be
//   using Events = TypeList<...>;              from the shell, for one of the two
//   using Actions = TypeList<...>;             for the shell (tree/io/host/runner.cpp)
// A message or an event that no component of its service handles does not compile.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tree/base/type_list.hpp"
#include "tree/job/root_turn.hpp"
#include "tree/turn/turn.hpp"
#include "tree/wire/message.hpp"

namespace charmtree::node {

struct NoRoot {};

template <class Service>
struct RootOf {
  using Type = NoRoot;
};
template <class Service>
requires requires {
  typename Service::Root;
}
struct RootOf<Service> {
  using Type = typename Service::Root;
};
template <class Service>
struct EventsOf {
  using List = TypeList<>;
};
template <class Service>
requires requires {
  typename Service::Events;
}
struct EventsOf<Service> {
  using List = typename Service::Events;
};
template <class Service>
struct ActionsOf {
  using List = TypeList<>;
};
template <class Service>
requires requires {
  typename Service::Actions;
}
struct ActionsOf<Service> {
  using List = typename Service::Actions;
};

template <class Component, class Happening, class Turn>
concept Handles = requires(Component& component, const Happening& happening, Turn& turn) {
  component.on(happening, turn);
};
template <class Component, class Message>
concept HandlesAtRoot = requires(Component& component, const Message& message, proto::RootTurn& turn) {
  component.up(message, turn);
};

/// Each event of the service is handled by exactly one of its components.
template <class Service, class... Events>
constexpr bool handles_events(TypeList<Events...>) {
  return ((Handles<typename Service::Launcher, Events, proto::Turn> !=
           Handles<typename RootOf<Service>::Type, Events, proto::RootTurn>)&&...);
}

/// Each message of the service that is for the root is handled there.
template <class Service, wire::IsMessage... Ms>
constexpr bool handles_at_root(wire::MessageList<Ms...>) {
  return ((Ms::kRoute != wire::Route::to_root || HandlesAtRoot<typename RootOf<Service>::Type, Ms>)&&...);
}

template <class... Services>
struct ServiceList {
  static_assert((handles_events<Services>(typename EventsOf<Services>::List{}) && ...));
  static_assert((handles_at_root<Services>(typename Services::Messages{}) && ...));
  using Messages = JoinedLists<typename Services::Messages...>;
  using Actions = JoinedLists<typename ActionsOf<Services>::List...>;
};

inline constexpr std::size_t kMessageNumbers = UINT8_MAX + 1;

template <class List>
class LauncherComponents;
/// The components of one launcher, in one run of the program.
template <class... Services>
class LauncherComponents<ServiceList<Services...>> {
public:
  /// Handles a message from the parent; at the root, one of the root's own. Returns false if no service has
  /// it.
  bool down(const wire::Message& message, proto::Turn& turn) {
    static constexpr auto kHandlers = table<Down, DownHandler>();
    const Down handler = kHandlers[message.number()];
    if (handler != nullptr) handler(*this, message, turn);
    return handler != nullptr;
  }
  /// Handles a message from the child at `link`. Returns false if no service has it.
  bool up(proto::LinkId link, wire::Message& message, proto::Turn& turn) {
    static constexpr auto kHandlers = table<Up, UpHandler>();
    const Up handler = kHandlers[message.number()];
    if (handler != nullptr) handler(*this, link, message, turn);
    return handler != nullptr;
  }
  /// Returns false if no component on launchers handles the event.
  bool on(proto::Event& event, proto::Turn& turn) {
    return (on_one_of<Services>(event, turn, typename EventsOf<Services>::List{}) || ...);
  }
  template <class Notice>
  static constexpr bool kHandles = (Handles<typename Services::Launcher, Notice, proto::Turn> || ...);
  /// Passes a notice to the components that handle it: at least one.
  template <class Notice>
  requires kHandles<Notice>
  void notify(const Notice& notice, proto::Turn& turn) { (notify_one<Services>(notice, turn), ...); }
  /// A run of the program begins.
  void begin(proto::Turn& turn) { (begin_one<Services>(turn), ...); }
  /// Nothing is awaited from this child any more.
  void child_lost(const proto::Child& child, proto::LinkId link, proto::Turn& turn) {
    (child_lost_one<Services>(child, link, turn), ...);
  }
  /// The parent is lost.
  void parent_lost(proto::Turn& turn) { (parent_lost_one<Services>(turn), ...); }
  /// Does what is due at the end of a turn, in the order of the list.
  void turn(proto::Turn& turn) { (turn_one<Services>(turn), ...); }
  /// Returns the earliest deadline in the job's time.
  Instant next_deadline() const {
    Instant deadline = kNever;
    ((deadline = earlier(deadline, deadline_of(of<Services>()))), ...);
    return deadline;
  }
  /// Returns the earliest deadline in the time of this host.
  Instant next_real_deadline() const {
    Instant deadline = kNever;
    ((deadline = earlier(deadline, real_deadline_of(of<Services>()))), ...);
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
  using Down = void (*)(LauncherComponents&, const wire::Message&, proto::Turn&);
  using Up = void (*)(LauncherComponents&, proto::LinkId, wire::Message&, proto::Turn&);

  template <class Service, class M>
  struct DownHandler {
    static constexpr bool kHandles = M::kRoute == wire::Route::down;
    static void handle(LauncherComponents& all, const wire::Message& message, proto::Turn& turn) {
      all.of<Service>().down(message.as<M>(), turn);
    }
  };
  template <class Service, class M>
  struct UpHandler {
    static constexpr bool kHandles = M::kRoute != wire::Route::down;
    static void handle(LauncherComponents& all, proto::LinkId link, wire::Message& message,
                       proto::Turn& turn) {
      if constexpr (requires { all.of<Service>().up(link, std::move(message.as<M>()), turn); }) {
        all.of<Service>().up(link, std::move(message.as<M>()), turn);
      } else {
        static_assert(M::kRoute == wire::Route::to_root, "a component must handle what is for launchers");
        turn.tell_up(std::move(message));
      }
    }
  };

  template <class Function, template <class, class> class Handler>
  static constexpr std::array<Function, kMessageNumbers> table() {
    std::array<Function, kMessageNumbers> handlers{};
    (enter<Handler, Services>(handlers, typename Services::Messages{}), ...);
    return handlers;
  }
  template <template <class, class> class Handler, class Service, class Function, wire::IsMessage... Ms>
  static constexpr void enter(std::array<Function, kMessageNumbers>& handlers, wire::MessageList<Ms...>) {
    (enter_one<Handler<Service, Ms>>(handlers, Ms::kNumber), ...);
  }
  template <class Handler, class Function>
  static constexpr void enter_one(std::array<Function, kMessageNumbers>& handlers, std::uint8_t number) {
    if constexpr (Handler::kHandles) handlers[number] = Handler::handle;
  }

  template <class Service, class... Events>
  bool on_one_of([[maybe_unused]] proto::Event& event, [[maybe_unused]] proto::Turn& turn,
                 TypeList<Events...>) {
    return (on_one<Service, Events>(event, turn) || ...);
  }
  template <class Service, class E>
  bool on_one(proto::Event& event, proto::Turn& turn) {
    if constexpr (Handles<typename Service::Launcher, E, proto::Turn>) {
      if (!event.is<E>()) return false;
      of<Service>().on(std::move(event.as<E>()), turn);
      return true;
    }
    return false;
  }
  template <class Service, class Notice>
  void notify_one(const Notice& notice, proto::Turn& turn) {
    if constexpr (Handles<typename Service::Launcher, Notice, proto::Turn>) of<Service>().on(notice, turn);
  }
  template <class Service>
  void turn_one([[maybe_unused]] proto::Turn& turn) {
    if constexpr (requires { of<Service>().turn(turn); }) of<Service>().turn(turn);
  }
  template <class Service>
  void begin_one([[maybe_unused]] proto::Turn& turn) {
    if constexpr (requires { of<Service>().begin(turn); }) of<Service>().begin(turn);
  }
  template <class Service>
  void child_lost_one([[maybe_unused]] const proto::Child& child, [[maybe_unused]] proto::LinkId link,
                      [[maybe_unused]] proto::Turn& turn) {
    if constexpr (requires { of<Service>().child_lost(child, link, turn); })
      of<Service>().child_lost(child, link, turn);
  }
  template <class Service>
  void parent_lost_one([[maybe_unused]] proto::Turn& turn) {
    if constexpr (requires { of<Service>().parent_lost(turn); }) of<Service>().parent_lost(turn);
  }
  static Instant deadline_of(const auto& component) {
    if constexpr (requires { component.next_deadline(); }) return component.next_deadline();
    return kNever;
  }
  static Instant real_deadline_of(const auto& component) {
    if constexpr (requires { component.next_real_deadline(); }) return component.next_real_deadline();
    return kNever;
  }

  std::tuple<typename Services::Launcher...> all_;
};

template <class List>
class RootComponents;
/// The components at the root, in one run of the program.
template <class... Services>
class RootComponents<ServiceList<Services...>> {
public:
  explicit RootComponents(const std::shared_ptr<const wire::JobSpec>& job) : all_(Part<Services>(job)...) {}

  /// Handles a message that has come to the root. Returns false if no component at the root does.
  bool up(const wire::Message& message, proto::RootTurn& turn) {
    return (up_one_of<Services>(message, turn, typename Services::Messages{}) || ...);
  }
  /// Returns true for events of a component at the root.
  static bool handles(const proto::Event& event) {
    return (is_one_of<Services>(event, typename EventsOf<Services>::List{}) || ...);
  }
  /// Handles an event of a component at the root; ignores others.
  void on(const proto::Event& event, proto::RootTurn& turn) {
    static_cast<void>((on_one_of<Services>(event, turn, typename EventsOf<Services>::List{}) || ...));
  }
  template <class Notice>
  static constexpr bool kHandles = (Handles<typename RootOf<Services>::Type, Notice, proto::RootTurn> || ...);
  /// Passes a notice to the components that handle it: at least one.
  template <class Notice>
  requires kHandles<Notice>
  void notify(const Notice& notice, proto::RootTurn& turn) { (notify_one<Services>(notice, turn), ...); }
  /// Does what is due at the end of a turn, in the order of the list.
  void turn(proto::RootTurn& turn) { (turn_one<Services>(turn), ...); }
  /// Takes over from the last run of the program.
  void take_over(RootComponents before) { (take_over_one<Services>(before), ...); }

  template <class Service>
  typename Service::Root& of() {
    return std::get<Part<Service>>(all_).root;
  }
  template <class Service>
  const typename Service::Root& of() const {
    return std::get<Part<Service>>(all_).root;
  }

private:
  template <class Service>
  struct Part {
    using Root = typename RootOf<Service>::Type;
    explicit Part(const std::shared_ptr<const wire::JobSpec>& job) requires(
        std::is_constructible_v<Root, decltype(job)>)
        : root(job) {}
    explicit Part(const std::shared_ptr<const wire::JobSpec>&) {}
    Root root;
  };

  template <class Service, class... Ms>
  bool up_one_of(const wire::Message& message, proto::RootTurn& turn, TypeList<Ms...>) {
    return (up_one<Service, Ms>(message, turn) || ...);
  }
  template <class Service, class M>
  bool up_one([[maybe_unused]] const wire::Message& message, [[maybe_unused]] proto::RootTurn& turn) {
    if constexpr (HandlesAtRoot<typename RootOf<Service>::Type, M>) {
      if (!message.is<M>()) return false;
      of<Service>().up(message.as<M>(), turn);
      return true;
    }
    return false;
  }
  template <class Service, class... Events>
  static bool is_one_of([[maybe_unused]] const proto::Event& event, TypeList<Events...>) {
    return ((Handles<typename RootOf<Service>::Type, Events, proto::RootTurn> && event.is<Events>()) || ...);
  }
  template <class Service, class... Events>
  bool on_one_of([[maybe_unused]] const proto::Event& event, [[maybe_unused]] proto::RootTurn& turn,
                 TypeList<Events...>) {
    return (on_one<Service, Events>(event, turn) || ...);
  }
  template <class Service, class E>
  bool on_one([[maybe_unused]] const proto::Event& event, [[maybe_unused]] proto::RootTurn& turn) {
    if constexpr (Handles<typename RootOf<Service>::Type, E, proto::RootTurn>) {
      if (!event.is<E>()) return false;
      of<Service>().on(event.as<E>(), turn);
      return true;
    }
    return false;
  }
  template <class Service, class Notice>
  void notify_one(const Notice& notice, proto::RootTurn& turn) {
    if constexpr (Handles<typename RootOf<Service>::Type, Notice, proto::RootTurn>)
      of<Service>().on(notice, turn);
  }
  template <class Service>
  void turn_one([[maybe_unused]] proto::RootTurn& turn) {
    if constexpr (requires { of<Service>().turn(turn); }) of<Service>().turn(turn);
  }
  template <class Service>
  void take_over_one([[maybe_unused]] RootComponents& before) {
    if constexpr (requires { of<Service>().take_over(std::move(before.of<Service>())); })
      of<Service>().take_over(std::move(before.of<Service>()));
  }

  std::tuple<Part<Services>...> all_;
};

}  // namespace charmtree::node
