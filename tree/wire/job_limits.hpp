// SPDX-License-Identifier: Apache-2.0
// What is the same for every launcher and cannot be sent in parts: whether it fits, asked by the root before
// it sends it anywhere, so that a job that is too large ends with one line.
#pragma once

#include "tree/base/result.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree::wire {

/// Largest coded job description: it must fit into a Welcome, beside its Host.
inline constexpr std::size_t kMaxJob = 31U << 20;

/// `coded`: size of encode(job). Error bad_input: how large its parts are, and which to make smaller.
Result<void> check_job(const JobSpec& job, std::size_t coded);

/// `coded`: size of encode(table). Error bad_input.
Result<void> check_table(const NodeTable& table, std::size_t coded);

}  // namespace charmtree::wire
