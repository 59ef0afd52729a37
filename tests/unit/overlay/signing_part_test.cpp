// SPDX-License-Identifier: Apache-2.0
// One launcher's share in ++forward-agent; whole jobs: node_signing_test.cpp.
#include "tree/overlay/signing_part.hpp"

#include "tests/unit/part_bench.hpp"

namespace charmtree::signing_part_test {

using namespace charmtree::proto;
using Role = test::PartBench::Role;

TEST_CASE("an inner launcher passes requests up, and the answer to the launcher that asked",
          "[signing_part]") {
  test::PartBench b{Role::below};
  SigningPart part;
  const LinkId link = b.child();
  b.self.index = 7;
  part.up({0, 3, 9, "data"}, b);
  REQUIRE(b.told_up.size() == 1);
  CHECK(get<wire::SignRequest>(b.told_up[0]).host == 9);
  part.down({0, 3, "signed"}, b);
  REQUIRE(b.handed_down.size() == 1);
  CHECK(b.handed_down[0].first == link);
  CHECK(get<wire::SignReply>(b.handed_down[0].second).signature == "signed");
  part.down({8, 3, "for a host that is not below"}, b);
  CHECK(b.handed_down.size() == 1);
}

TEST_CASE("a login that nobody waits for any more gets no signature", "[signing_part]") {
  test::PartBench b{Role::below};
  SigningPart part;
  const LinkId up = b.child();
  part.on(SignatureWanted{up, "data"}, b);
  part.down({b.self.index, up, "signed"}, b);
  CHECK(b.told_up.empty());
  CHECK(b.take<Signed>().empty());
}

TEST_CASE("a launcher without a way up tells its login at once that there is no signature",
          "[signing_part]") {
  test::PartBench b{Role::below};
  SigningPart part;
  Host host;
  host.name = "h0";
  b.launch.add({host}, 0, b.now(), b.actions);
  const auto logins = b.take<Login>();
  REQUIRE(logins.size() == 1);
  b.way = WayUp::awaited;
  part.on(SignatureWanted{logins[0].link, "data"}, b);
  CHECK(b.told_up.empty());
  const auto answers = b.take<Signed>();
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].signature.empty());
}

TEST_CASE("the root answers what it refuses, and says so a limited number of times", "[signing_part]") {
  test::PartBench b{Role::root};
  b.child();
  SigningPart part{b.job, {}};
  for (int i = 0; i < 100; ++i) part.up({0, 3, 0, "no login"}, b);
  CHECK(b.handed_down.size() == 100);
  for (const auto& [link, message] : b.handed_down) CHECK(get<wire::SignReply>(message).signature.empty());
  CHECK(b.take<Say>().size() == 20);
}

}  // namespace charmtree::signing_part_test
