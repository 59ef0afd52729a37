// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/cli/command_lines.hpp"

namespace charmtree::several_programs_test {

using namespace command_lines;

TEST_CASE("several programs are one job") {
  const auto options =
      good({"+p2", "./a", "1", ":", "++n", "6", "++env", "X=1", "./b", ":", "./c", "++", "+p9", ":", "d"});
  CHECK((options.program == "./a" && options.arguments == Words{"1"}));
  CHECK((options.counts.processes == 9 && options.counts.pes == 0));
  REQUIRE(options.further.size() == 2);
  const FurtherCommand &b = options.further[0], &c = options.further[1];
  CHECK((b.processes == 6 && b.program == "./b" && b.arguments.empty() && b.variables.all == Words{"X=1"}));
  CHECK((c.processes == 1 && c.program == "./c" && c.arguments == Words{"+p9", ":", "d"}));
  CHECK(good({"++", "./a", ":", "./b"}).arguments == Words{":", "./b"});
  CHECK(good({"++in", "+p2", "./a", ":", "./b"}).counts.processes == 3);
  CHECK(has(failure({"./a", ":"}), "no program was given behind a ':'"));
  CHECK(has(failure({":", "./a"}), "no program was given"));
  CHECK(has(failure({"./a", ":", "++local", "./b"}), "++local behind a ':' is for all programs"));
  CHECK(has(failure({"+p2", "++n", "2", "./a", ":", "./b"}), "each of several programs has one number"));
  CHECK(has(failure({"./a", ":", "++ppn", "2", "./b"}), "++ppn behind a ':' is for all programs"));
  CHECK(has(failure({"++list", ":"}), "a lone ':' has no meaning here"));
  CHECK(
      has(failure({"++auto-provision", "./a", ":", "./b"}), "++auto-provision and several programs exclude"));
  CHECK(has(failure({"++doctor", "./a", ":", "./b"}), "++doctor and several programs exclude"));
  CHECK(good({"++server", "./a", ":", "./b"}).ccs.wanted);
  CHECK(has(failure({"+p16777216", "./a", ":", "./b"}), "at most 16777216 are possible"));
}

}  // namespace charmtree::several_programs_test
