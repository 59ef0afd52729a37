// SPDX-License-Identifier: Apache-2.0
// What ++list says of jobs without a charmrun that answers, and what it says as JSON.
#include <catch2/catch.hpp>

#include "charmrun/control/status_text.hpp"

namespace charmtree::job_list_test {

using namespace charmtree::control;
using namespace charmtree::proto;

namespace {

constexpr std::int64_t kSeen = 1'700'000'000'000;

std::string answer(const std::string& id) {
  wire::JobSpec job;
  job.id = id;
  job.arguments = {"./app"};
  return status_json(job, 4711, {}, {Stage::run, 2, 2, 0, 3, 3, 1, {}}, 75s);
}

}  // namespace

TEST_CASE("a job without a charmrun says for how long it waits at most, and when that is over",
          "[job_list]") {
  const RootlessJob job{"ab01", "n0", 60s, kSeen};
  const auto said = [&](std::int64_t now, const std::string& here) {
    return rootless_text({job}, now, here);
  };
  CHECK(
      said(kSeen, "n0") ==
      "job ab01 runs without a charmrun and ends within 75.00 s unless taken over: charmrun ++attach ab01\n");
  CHECK(said(kSeen + 75'000, "n0").find("within 0.0 ms unless") != std::string::npos);
  const std::string over = "job ab01 has ended: no charmrun has taken over within its 60 s (++keep-alive)\n";
  CHECK(said(kSeen + 75'001, "n0") == over);
  CHECK(said(kSeen + 10'000, "n1") == "job ab01 has its charmrun on n0\n");
  CHECK(said(kSeen + 10'001, "n1").find("runs without a charmrun") != std::string::npos);
  CHECK(said(kSeen + 75'001, "n1") == over);
}

TEST_CASE("what asks a job without a charmrun gets the reason", "[job_list]") {
  RootlessJob job{"ab01", "n0", 60s, kSeen};
  const auto why = [&](std::int64_t now, const std::string& here) {
    const auto error = rootless_error(job, now, here);
    return error ? error->what + "; " + error->fix : "";
  };
  CHECK(why(kSeen, "n0") ==
        "job ab01 runs without a charmrun and ends within 75.00 s unless taken over; "
        "charmrun ++attach ab01 takes it over; Ctrl-C ends it there");
  CHECK(why(kSeen, "n1") == "job ab01 has its charmrun on n0; call charmrun on that machine");
  CHECK(why(kSeen + 75'001, "n0")
            .starts_with("job ab01 has ended: no charmrun has taken over within its 60 s"));
  job.held = true;
  CHECK(why(kSeen, "n0").empty());
}

TEST_CASE("a job whose charmrun is there and does not answer is never over", "[job_list]") {
  const RootlessJob job{"ab01", "n0", 60s, kSeen, true};
  const std::int64_t late = kSeen + 1'000'000'000;
  CHECK(rootless_text({job}, late, "n0") ==
        "job ab01 has a charmrun here that does not answer: is it suspended?\n");
  CHECK_FALSE(job.is_forgotten(late));
}

TEST_CASE("a job that is over is remembered for a day", "[job_list]") {
  const RootlessJob job{"ab01", "n0", 60s, kSeen};
  const std::int64_t day = 24 * 3'600'000;
  CHECK_FALSE(job.is_forgotten(kSeen + 75'000 + day));
  CHECK(job.is_forgotten(kSeen + 75'001 + day));
}

TEST_CASE("the list as JSON is an object for each job, a line each", "[job_list]") {
  const std::string one = answer("ab01");
  CHECK(list_json({}, {}, 0, "n0").empty());
  CHECK(list_json({one}, {}, 0, "n0") == one);
  const std::vector<RootlessJob> rootless{{"ab02", "n0", 60s, kSeen}};
  CHECK(list_json({one}, rootless, kSeen, "n0") ==
        one + R"({"format":"charmtree-status-1","job":"ab02","machine":"n0","stage":"rootless","waits":75.0})"
              "\n");
  CHECK(list_json({}, rootless, kSeen, "n1").find(R"("stage":"elsewhere")") != std::string::npos);
  CHECK(list_json({}, rootless, kSeen + 80'000, "n0").find(R"("stage":"over")") != std::string::npos);
  const std::vector<RootlessJob> held{{"ab02", "n0", 60s, kSeen, true}};
  CHECK(list_json({}, held, kSeen, "n0").find(R"("stage":"silent")") != std::string::npos);
}

TEST_CASE("a session is told by its answer", "[job_list]") {
  CHECK_FALSE(is_session(answer("ab01")));
  CHECK(id_of(answer("ab01")) == "ab01");
  CHECK(count_sessions({answer("ab01")}, "") == 0);
  CHECK(pids_of({answer("ab01"), "garbage"}) == std::set<std::uint64_t>{0, 4711});
}

}  // namespace charmtree::job_list_test
