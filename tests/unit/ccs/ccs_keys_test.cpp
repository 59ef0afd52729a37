// SPDX-License-Identifier: Apache-2.0
#include "ccs/keys.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/charm_capture.hpp"

namespace charmtree::ccs_keys_test {

using namespace charmtree::ccs;
using charm_capture::hex;

namespace {

Key key(std::string_view text) {
  const std::string bytes = hex(text);
  Key key{};
  std::copy(bytes.begin(), bytes.end(), key.begin());
  return key;
}

Result<KeyFile> read(std::string_view text, bool weak = false) {
  return read_keys(text, "keys", weak, [] { return std::string(32, '7'); });
}

using Readings = std::vector<Key>;

}  // namespace

TEST_CASE("a key is read as Charm++'s Java clients do, and as its C clients do") {
  const auto file = read("0 0011223344556677889900aa11223344\n");
  REQUIRE(file);
  CHECK(file->keys.of(0) ==
        Readings{key("0011223344556677889900aa11223344"), key("000b16212c37424d5863000000000000")});
  CHECK_FALSE(file->keys.optional());
  CHECK(file->remarks.empty());
}

TEST_CASE("pairs 00 to 09 are one key, and short keys are filled up") {
  const auto file = read(" 3\t010203040506070809 more\r\n");
  REQUIRE(file);
  CHECK(file->keys.of(3) == Readings{key("01020304050607080900000000000000")});
  CHECK(file->keys.optional());
  CHECK(file->keys.of(0).empty());
  CHECK(read("0 1122334455667788999")->keys.of(0).front() == key("11223344556677889990000000000000"));
}

TEST_CASE("a key of which C clients would read nearly nothing is hexadecimal alone, and that is told") {
  const auto file = read("# two\n\n254 ffeeddccbbaa99887766554433221100\n");
  REQUIRE(file);
  CHECK(file->keys.of(254) == Readings{key("ffeeddccbbaa99887766554433221100")});
  REQUIRE(file->remarks.size() == 1);
  CHECK(file->remarks[0].starts_with("keys, line 3: Charm++'s C clients"));
  CHECK(file->remarks[0].find("++server-auth-weak") != std::string::npos);
  const auto weak = read("0 ffeeddccbbaa99887766554433221100", true);
  CHECK(weak->keys.of(0) == Readings{key("ffeeddccbbaa99887766554433221100"), Key{}});
  CHECK(weak->remarks.empty());
}

TEST_CASE("keys that are easily guessed, or none at all, are refused with their line") {
  for (const char* text : {"0 00", "0 ff", "0 a1b2c3", "0 11zz", "0 01020304050607"}) {
    CAPTURE(text);
    const auto file = read(std::string{"\n"} + text);
    REQUIRE_FALSE(file);
    CHECK(file.error().what == "keys, line 2: this key is easily guessed");
    CHECK(read(text, true));
  }
  CHECK(read("0 secret").error().what == "keys, line 1: this is no key");
  CHECK(read("0 7").error().what == "keys, line 1: this is no key");
}

TEST_CASE("lines without a level that there is are comments") {
  const auto file = read("255 11223344556677889911\n-1 11223344556677889911\nlevel 3\n7\nx 1\n");
  REQUIRE(file);
  CHECK(file->keys.optional());
  CHECK(file->keys.of(7).empty());
  CHECK(file->keys.of(255).empty());
}

TEST_CASE("OTP makes a key, which is announced, in a form that is a key for all clients") {
  const auto file = read("0 OTPseed\n");
  REQUIRE(file);
  CHECK(file->announced == "CCS_OTP_KEY> Level 0 key: 77777777777777777777777777777777\n");
  CHECK(file->keys.of(0) ==
        Readings{key("77777777777777777777777777777777"), key("4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d")});
}

}  // namespace charmtree::ccs_keys_test
