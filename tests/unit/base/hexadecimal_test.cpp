// SPDX-License-Identifier: Apache-2.0
#include "tree/base/hexadecimal.hpp"

#include <catch2/catch.hpp>

namespace charmtree::hexadecimal_test {

TEST_CASE("each byte is two digits", "[hexadecimal]") {
  using namespace std::string_view_literals;
  CHECK(hexadecimal("") == "");
  CHECK(hexadecimal("\x00\x0f\xa0\xff"sv) == "000fa0ff");
}

}  // namespace charmtree::hexadecimal_test
