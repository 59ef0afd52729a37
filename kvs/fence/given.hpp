// SPDX-License-Identifier: Apache-2.0
// The contributions of all hosts to a fence on their way down the tree. The root packs them once, as every
// link carries them, and each host unpacks its copy. Addresses of processes are similar: packed they take a
// fifth.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kvs/fence/messages.hpp"
#include "tree/clients/client_server.hpp"

namespace charmtree::kvs {

/// Compresses from 64 KiB on.
std::string pack_given(std::string_view given);
/// Returns nothing if pack_given did not make it, or if it has more than `most` bytes.
std::optional<std::string> unpack_given(std::string_view packed, std::size_t most);
/// Returns the result of a fence of all its pieces, of which there is one or more. A fence whose
/// contributions have more than `most` bytes has failed.
proto::FenceDone whole_fence(const std::vector<FenceDown>& pieces, std::size_t most);

}  // namespace charmtree::kvs
