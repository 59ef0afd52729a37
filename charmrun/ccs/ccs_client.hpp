// SPDX-License-Identifier: Apache-2.0
// charmrun ++ccs: one request of a running job, from the command line.
#pragma once

#include <optional>
#include <string>

#include "charmrun/ccs/ccs_question.hpp"
#include "tree/base/result.hpp"

namespace charmtree {

/// Asks, and waits for the reply as long as it takes. Nothing: the handler gives none. Error: who refuses,
/// and why. `keys`: a file with the key of the lowest level that it names; empty: none.
Result<std::optional<std::string>> ask_ccs(const CcsQuestion& question, const std::string& keys);

}  // namespace charmtree
