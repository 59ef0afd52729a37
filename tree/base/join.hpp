// SPDX-License-Identifier: Apache-2.0
// Texts become one text.
#pragma once

#include <string>
#include <string_view>

namespace charmtree {

/// The texts in their order, with `between` between each two. fmt::join would compile how fmt writes texts in
/// every file that uses it.
template <class Texts>
std::string join(const Texts& texts, std::string_view between) {
  std::string all;
  bool is_first = true;
  for (const auto& text : texts) {
    if (!is_first) all += between;
    is_first = false;
    all += text;
  }
  return all;
}

}  // namespace charmtree
