// SPDX-License-Identifier: Apache-2.0
// The test framework's own main; nothing else, so that it is compiled once.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
