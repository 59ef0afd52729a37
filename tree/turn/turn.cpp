// SPDX-License-Identifier: Apache-2.0
#include "tree/turn/turn.hpp"

#include "tree/base/type_functions.hpp"
#include "tree/turn/upward.hpp"

namespace charmtree::proto {

void Turn::tell_up(Upward upward) {
  for (const News& each : upward.news) tell(each);
  for (wire::Message& message : upward.messages) tell_up(std::move(message));
  if (!upward.facts.empty()) tell_up(wire::Message{std::move(upward.facts)});
}

}  // namespace charmtree::proto

template struct charmtree::FunctionsOf<charmtree::proto::AnyNews>;
