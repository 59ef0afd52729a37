// SPDX-License-Identifier: Apache-2.0
#include "tree/clients/recoveries.hpp"

#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

namespace charmtree::recoveries_test {

using namespace charmtree::proto;
using charmtree::wire::Recovery;

TEST_CASE("every combination of a program and a policy is ruled on: a recovery, or why not and what to do",
          "[recoveries]") {
  for (const auto& row : kRecoveries) {
    for (const Ruling& each : row) {
      CHECK(each.recovery.has_value() == each.why_not.empty());
      CHECK(each.recovery.has_value() == each.fix.empty());
    }
  }
}

TEST_CASE("what a program can do decides whether its processes are started again one by one",
          "[recoveries]") {
  for (std::size_t i = 0; i < kProgramKinds; ++i) {
    const auto kind = static_cast<ProgramKind>(i);
    using Restartable = Abilities::Restartable;
    const auto recovery = ruling(kind, Policy::restart).recovery;
    CHECK((recovery == Recovery::in_place) == (abilities(kind).restart == Restartable::alone));
    CHECK((recovery == Recovery::by_program_or_whole) == (abilities(kind).restart == Restartable::with_all));
    const auto whole = ruling(kind, Policy::restart_whole).recovery;
    CHECK(whole == (recovery ? std::optional{Recovery::whole} : std::nullopt));
  }
}

TEST_CASE("fault-tolerant builds restart lost processes whatever the policy is", "[recoveries]") {
  for (const Policy policy : {Policy::abort, Policy::go_on, Policy::restart})
    CHECK(is_by_program(ruling(ProgramKind::charm_restarting, policy).recovery.value()));
}

TEST_CASE("a program that shows what it is when it speaks may be refused then", "[recoveries]") {
  CHECK(why_not(ProgramKind::charm, Recovery::go_on) ==
        "a Charm++ program cannot go on without a lost process (++on-failure continue)");
  CHECK(why_not(ProgramKind::native, Recovery::go_on).empty());
  CHECK(why_not(ProgramKind::charm, Recovery::in_place).empty());  // then it is started again as a whole
  CHECK(why_not(ProgramKind::charm_restarting, Recovery::by_program).empty());
}

TEST_CASE("users read the table that the launcher goes by", "[recoveries]") {
  std::ifstream file{CHARMTREE_FAILURES_PAGE};
  std::stringstream page;
  page << file.rdbuf();
  for (const std::string& line : recovery_table()) {
    INFO(line);
    CHECK(page.str().find(line + "\n") != std::string::npos);
  }
}

}  // namespace charmtree::recoveries_test
