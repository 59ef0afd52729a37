// SPDX-License-Identifier: Apache-2.0
// Text within pictures.
#pragma once

#include <string>
#include <string_view>

namespace charmtree {

/// Made visible(), and without what XML would take for its own, within a tag or between two.
std::string xml_text(std::string_view text);

}  // namespace charmtree
