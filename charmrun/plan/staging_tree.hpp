// SPDX-License-Identifier: Apache-2.0
// The tree that carries a job's files best (wire::StagedFiles). Pure.
#pragma once

#include <cstdint>

#include "tree/wire/staging.hpp"

namespace charmtree {

/// How many launchers each one should start where every link carries `bytes`: few are fed sooner, and many
/// are started sooner. 0: it does not matter.
std::uint32_t staging_branching(std::uint64_t bytes, std::uint32_t hosts);

/// Of all of them.
std::uint64_t total_size(const wire::StagedFiles& staged);

}  // namespace charmtree
