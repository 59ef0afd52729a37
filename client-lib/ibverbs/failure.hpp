// SPDX-License-Identifier: Apache-2.0
// What went wrong, as the C functions return it and ct_verbs_error tells it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "client-lib/charmtree.h"

namespace charmtree::ibverbs {

struct Failure {
  int code = 0;  // CT_E...
  std::string what;
};

/// Nothing: it is done.
using Outcome = std::optional<Failure>;

/// An error of charmtree.h.
inline Failure failed(const std::string& what, int error) {
  return {error, what + ": " + ct_strerror(error)};
}

inline std::string makes_no_sense(std::size_t rank) {
  return "what rank " + std::to_string(rank) + " has told makes no sense";
}

/// Exceptions are want of memory, or of a source of numbers.
template <class Call>
Outcome attempt(Call call) noexcept {
  try {
    return call();
  } catch (...) {
    return Failure{CT_ENOMEM, "no memory"};
  }
}

}  // namespace charmtree::ibverbs
