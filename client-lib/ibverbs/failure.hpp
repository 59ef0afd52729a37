// SPDX-License-Identifier: Apache-2.0
// What went wrong, as the C functions return it and ct_verbs_error tells it.
#pragma once

#include <optional>
#include <string>

namespace charmtree::ibverbs {

struct Failure {
  int code = 0;  // CT_E...
  std::string what;
};

/// Nothing: it is done.
using Outcome = std::optional<Failure>;

}  // namespace charmtree::ibverbs
