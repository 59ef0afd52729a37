// SPDX-License-Identifier: Apache-2.0
#include "charmrun/report/xml_text.hpp"

#include "tree/base/visible.hpp"

namespace charmtree {

std::string xml_text(std::string_view text) {
  std::string result;
  for (const char c : visible(text)) {
    switch (c) {
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '&':
        result += "&amp;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

}  // namespace charmtree
