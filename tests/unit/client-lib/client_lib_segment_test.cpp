// SPDX-License-Identifier: Apache-2.0
#include "client-lib/segment.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>

#include "tree/io/unique_fd.hpp"

namespace charmtree::client_lib_segment_test {

using client::Segment;

constexpr std::size_t kSize = 10'000;

TEST_CASE("segment: what one writes the others read, also when its maker has let it go") {
  auto made = Segment::make(kSize);
  REQUIRE(made);
  auto other = Segment::open(made->name(), kSize);
  REQUIRE(other);
  made->data()[kSize - 1] = 'a';
  CHECK(other->data()[kSize - 1] == 'a');
  other->data()[0] = 'b';
  const client::Mapping left = made->take();
  made.reset();
  CHECK(left.bytes().front() == 'b');
  other->data()[1] = 'c';
  CHECK(left.bytes()[1] == 'c');
}

TEST_CASE("segment: its name is of no use when its maker has let it go") {
  auto made = Segment::make(kSize);
  REQUIRE(made);
  const std::string name = made->name();
  made.reset();
  CHECK_FALSE(Segment::open(name, kSize));
}

TEST_CASE("segment: a name that is none opens nothing") {
  for (const char* name :
       {"", " ", "1", "self 0", "1 ", " 3", "-1 3", "1 3/../../etc/passwd", "99999999999 3"})
    CHECK_FALSE(Segment::open(name, kSize));
}

TEST_CASE("segment: what is not sealed, or of another size, is not opened") {
  const auto made = Segment::make(kSize);
  REQUIRE(made);
  CHECK_FALSE(Segment::open(made->name(), kSize + 1));
  CHECK_FALSE(Segment::open(made->name(), kSize - 1));
  const io::UniqueFd plain{::open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)};
  REQUIRE(plain);
  REQUIRE(::ftruncate(plain.get(), kSize) == 0);
  CHECK_FALSE(Segment::open(fmt::format("{} {}", ::getpid(), plain.get()), kSize));
}

}  // namespace charmtree::client_lib_segment_test
