// SPDX-License-Identifier: Apache-2.0
// Events and actions of looks at the processes of a host, which say nothing themselves. A part of the
// vocabulary of tree/turn/events.hpp.
#pragma once

#include <cstdint>
#include <string>

#include "tree/clients/client_server.hpp"
#include "tree/clients/client_silence.hpp"
#include "tree/turn/event.hpp"

namespace charmtree::proto {

// ---- events

/// Answer to LookAtClient.
struct ClientSeen {
  using Family = Event;
  std::uint32_t process;
  Sight sight;
};
/// Answer to LookForMpi: the file name of the MPI library; empty: none is loaded.
struct MpiLoaded {
  using Family = Event;
  std::uint32_t process;
  std::string library;
};

// ---- actions

/// Find out what a process does that says nothing: the one that holds the client's connection. Answer
/// ClientSeen.
struct LookAtClient {
  using Family = Action;
  std::uint32_t process;
  ClientId client;
};
/// Find out whether the process, or one that it has started, has loaded an MPI library. Answer MpiLoaded.
struct LookForMpi {
  using Family = Action;
  std::uint32_t process;
};

}  // namespace charmtree::proto
