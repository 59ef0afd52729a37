// SPDX-License-Identifier: Apache-2.0
// Several functions as one.
#pragma once

namespace charmtree {

/// Functions for the alternatives of a variant, as std::visit and dispatch (one_of.hpp) take them: an
/// alternative that none of them takes does not compile. Source: cppreference, std::visit.
template <class... Each>
struct Overloaded : Each... {
  using Each::operator()...;
};
template <class... Each>
Overloaded(Each...) -> Overloaded<Each...>;

}  // namespace charmtree
