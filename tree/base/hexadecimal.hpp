// SPDX-License-Identifier: Apache-2.0
// Bytes as text.
#pragma once

#include <string>
#include <string_view>

namespace charmtree {

/// Two lower-case digits for each byte.
std::string hexadecimal(std::string_view bytes);

}  // namespace charmtree
