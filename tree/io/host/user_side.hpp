// SPDX-License-Identifier: Apache-2.0
// The two halves of the interface between a root's Runner and its user: actions go to the UserSide, events of
// the user come back by UserEvents.
#pragma once

#include <cstddef>

#include "debug/events.hpp"
#include "input/events.hpp"
#include "stacks/events.hpp"
#include "tree/base/one_of.hpp"
#include "tree/turn/events.hpp"

namespace charmtree::io {

/// Receives what the user does, and the notice that there is room for more output.
class UserEvents {
public:
  virtual ~UserEvents() = default;
  virtual void dispatch(proto::Event event) = 0;
  virtual void check_flow() = 0;
};

/// The actions that only a root's user side carries out. What answers each of them is said at its declaration
/// in tree/turn/events.hpp; answers go to UserEvents::dispatch.
using AnyUserAction =
    AnyOf<proto::Show, proto::Say, proto::Sign, proto::StoreHostKey, proto::Record, proto::FenceOver,
          proto::AllInitialised, proto::Examined, proto::Progress, proto::ProcessesKnown, stacks::StacksSeen,
          debug::DebugHeard, debug::ToolHeard, input::ReadInput, input::ReleaseKeys, proto::StopSelf,
          proto::ReadHosts, proto::RunOver, proto::KeepTree>;
struct UserAction : AnyUserAction {
  using AnyUserAction::AnyUserAction;
};

/// The root's user. Each implementation visits the variant with a case for each of its types, so that an
/// action without a case does not compile. The calls come from the event loop.
class UserSide {
public:
  virtual ~UserSide() = default;
  virtual void perform(UserAction action) = 0;
  /// Returns how many bytes of output have not been written yet.
  virtual std::size_t backlog() const = 0;
};

}  // namespace charmtree::io

extern template struct charmtree::FunctionsOf<charmtree::io::AnyUserAction>;
