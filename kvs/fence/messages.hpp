// SPDX-License-Identifier: Apache-2.0
// The messages of the fence service. Only kvs/fence sends and handles them.
#pragma once

#include <cstdint>
#include <string>

#include "tree/wire/fence.hpp"
#include "tree/wire/message.hpp"

namespace charmtree::kvs {

/// The fence is over for all processes of its group. Large contributions come in pieces, which follow each
/// other on a link.
struct FenceDown {
  CT_MESSAGE(down, 36);
  wire::Fence fence;
  std::string failure;       // why it has failed; empty: it has not
  wire::Blob given;          // a piece of all contributions, host by host, packed (kvs/fence/given.hpp)
  std::uint64_t offset = 0;  // of the piece, in bytes
  bool more = false;         // further pieces follow
};

/// More processes below have entered the fence. A large contribution comes in pieces, of which the last one
/// counts the processes.
struct FenceUp {
  CT_MESSAGE(up, 79);
  wire::Fence fence;
  std::uint32_t epoch = 0;      // of the node table: an entry of an older one is void
  std::uint32_t processes = 0;  // that have entered since the last such message; 0: further pieces follow
  std::string given;            // their contributions, host by host
  std::uint64_t requests = 0;   // that these processes have made since their last fence; 0: not counted
};

}  // namespace charmtree::kvs
