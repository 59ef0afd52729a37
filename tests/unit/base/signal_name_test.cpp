// SPDX-License-Identifier: Apache-2.0
#include "tree/base/signal_name.hpp"

#include <catch2/catch.hpp>

#include <cstring>

namespace charmtree::signal_name_test {

TEST_CASE("signals are called as the C library calls them", "[signal_name]") {
  for (int signal = 1; signal < 32; ++signal) CHECK(signal_name(signal) == sigabbrev_np(signal));
  for (const int signal : {-1, 0, 32, 64, 1000}) CHECK(signal_name(signal).empty());
}

}  // namespace charmtree::signal_name_test
