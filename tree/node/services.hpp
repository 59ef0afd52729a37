// SPDX-License-Identifier: Apache-2.0
// The list of services, in the order in which their components act at the end of a turn. Messages and parts
// that are in no service yet stand in tree/wire/messages.hpp and tree/node/run_parts.hpp.
#pragma once

#include "debug/service.hpp"
#include "input/service.hpp"
#include "kvs/fence/service.hpp"
#include "kvs/ring/service.hpp"
#include "stacks/service.hpp"
#include "staging/service.hpp"
#include "tree/node/service_list.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree::node {

using Services = ServiceList<kvs::FenceService, kvs::RingService, stacks::StacksService, debug::DebugService,
                             debug::ToolService, staging::StagingService, input::InputService>;

/// All messages between launchers.
using Messages = JoinedLists<wire::CoreMessages, Services::Messages>;
inline constexpr wire::MessageTypes kMessageTypes{Messages{}};

/// All actions.
using Actions = JoinedLists<proto::CoreActions, Services::Actions>;

}  // namespace charmtree::node
