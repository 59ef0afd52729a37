// SPDX-License-Identifier: Apache-2.0
// The members of Error, which messages of several services have.
#pragma once

#include "tree/base/error.hpp"
#include "tree/wire/describe.hpp"

namespace charmtree::wire {

template <>
inline constexpr Errc kLast<Errc> = static_cast<Errc>(kErrcCount - 1);
template <>
inline constexpr Phase kLast<Phase> = static_cast<Phase>(kPhaseCount - 1);

CT_MEMBERS(Error, s.code, s.phase, s.what, s.fix)

}  // namespace charmtree::wire
