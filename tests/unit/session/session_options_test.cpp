// SPDX-License-Identifier: Apache-2.0
// ++session, ++in, ++end: what they take, and which session is meant.
#include <catch2/catch.hpp>

#include "charmrun/cli/option_table.hpp"
#include "charmrun/cli/options.hpp"
#include "charmrun/control/status_text.hpp"
#include "charmrun/plan/placement.hpp"

namespace charmtree::session_options_test {

using namespace charmtree::control;

namespace {

using Words = std::vector<std::string>;

Result<Options> parsed(Words words) {
  words.insert(words.begin(), "charmrun");
  return parse_options(words, {});
}

Options good(Words words) {
  const auto options = parsed(std::move(words));
  INFO((options ? std::string{} : to_string(options.error())));
  REQUIRE(options);
  return *options;
}

std::string failure(Words words) {
  const auto options = parsed(std::move(words));
  REQUIRE_FALSE(options);
  return to_string(options.error());
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

std::string answer(const std::string& id, int pid, const std::optional<SessionStatus>& session) {
  wire::JobSpec job;
  job.id = id;
  job.arguments = {"./app"};
  return status_json(job, pid, {}, {}, 1s, session);
}

}  // namespace

TEST_CASE("a tree and what runs over it have options of their own", "[session]") {
  const Options tree = good({"++session", "++nodelist", "nodes", "++branching", "3", "++verbose"});
  CHECK(tree.mode == Mode::session);
  CHECK((tree.launch.branching == 3 && tree.hosts.nodelist == "nodes" && tree.program.empty()));
  const Options run = good({"++in", "+p64", "++label", "./next", "1", "++quiet"});
  CHECK(run.mode == Mode::in);
  CHECK((run.counts.pes == 64 && run.output.label && run.program == "./next" && run.arguments == Words{"1"}));
  CHECK(has(failure({"++session", "+p4"}),
            "++p is for what runs in the session; charmrun ++in ++p ... program"));
  CHECK(has(failure({"++in", "++nodelist", "x", "./next"}), "++nodelist is for the session as a whole"));
  CHECK(has(failure({"++in", "++heartbeat", "1", "./next"}), "++heartbeat is for the session as a whole"));
  for (const char* word : {"++interactive", "++server", "++dashboard", "++mpiexec"}) {
    CHECK(has(failure({"++in", word, "./next"}), "and sessions exclude each other"));
    CHECK(has(failure({"++session", word}), "and sessions exclude each other"));
  }
  CHECK(
      has(failure({"++in", "++on-failure", "restart", "./next"}), "sessions know no ++on-failure but abort"));
}

TEST_CASE("every option belongs to a session, to its runs, to both or to neither", "[session]") {
  std::size_t trees = 0, runs = 0, both = 0, neither = 0;
  for (const OptionRow& row : option_table()) {
    const SessionPart part = session_part(row);
    trees += part == SessionPart::tree ? 1 : 0;
    runs += part == SessionPart::run ? 1 : 0;
    both += part == SessionPart::both ? 1 : 0;
    neither += part == SessionPart::neither ? 1 : 0;
  }
  CHECK(both == 5);  // timeout, verbose, quiet, help, version
  CHECK((trees > 15 && runs > 30 && neither > 15));
}

TEST_CASE("the word behind ++in is a session if it looks like one", "[session]") {
  CHECK(good({"++in", "3f2a", "+p2", "./app"}).job == "3f2a");
  CHECK(good({"++in", "3f2a", "+p2", "./app"}).program == "./app");
  CHECK(good({"++in", "app", "3f2a"}).job.empty());
  CHECK(good({"++in", "app", "3f2a"}).arguments == Words{"3f2a"});
  CHECK(good({"++in", "./cafe"}).program == "./cafe");
  CHECK(good({"++end", "3f2a"}).program == "3f2a");
  CHECK(good({"++end"}).program.empty());
  CHECK(has(failure({"++in", "3f2a"}), "no program was given"));
  CHECK(has(failure({"++end", "3f2a", "4711"}), "'4711' has no meaning here; charmrun ++end [JOB]"));
  CHECK(has(failure({"++session", "./app"}), "++session has no use for './app'"));
}

TEST_CASE("a session is chosen among the jobs that run", "[session]") {
  const SessionStatus idle{true, 2, 0};
  const std::vector<std::string> answers = {answer("aaaa000000000000", 11, idle),
                                            answer("bbbb000000000000", 12, {}),
                                            answer("aabb000000000000", 13, idle)};
  const auto chosen = [&](const std::string& wanted) {
    const auto id = choose_session(answers, wanted);
    return id ? *id : id.error().what + "; " + id.error().fix;
  };
  CHECK(chosen("aab") == "aabb000000000000");
  CHECK(chosen("11") == "aaaa000000000000");
  CHECK(chosen("bbbb") ==
        "no sessions of yours are called 'bbbb'; there is: aaaa000000000000, aabb000000000000");
  CHECK(chosen("aa") == "2 sessions of yours are called 'aa'; there is: aaaa000000000000, aabb000000000000");
  CHECK(has(chosen(""), "2 sessions of yours are running; say which one: aaaa"));
  CHECK(*choose_session({answers[0], answers[1]}, "") == "aaaa000000000000");
  CHECK(choose_session({answers[1]}, "").error().fix == "charmrun ++session starts one");
}

TEST_CASE("the status of a session says whether it has something to run", "[session]") {
  const std::string idle = answer("aaaa000000000000", 11, SessionStatus{true, 2, 0});
  CHECK(has(status_text(idle), "idle: a session, waiting for what to run (2 so far)"));
  CHECK(has(list_text({idle}), " idle "));
  CHECK(has(status_text(answer("aaaa000000000000", 11, SessionStatus{false, 3, 4})),
            "; 4 more wait to be run"));
}

TEST_CASE("all hosts are in a session, and none has processes before a run", "[session]") {
  const std::vector<std::uint32_t> slots(4, 1);
  const auto tree = place(good({"++session", "++local"}), slots);
  REQUIRE(tree);
  CHECK(tree->counts.processes == 0);
  CHECK(tree->counts.notes.empty());
  REQUIRE(tree->hosts.size() == 4);
  for (const HostShare& share : tree->hosts) CHECK(share.processes == 0);
  const auto run = place(good({"++in", "+p2", "./app"}), slots);
  REQUIRE(run);
  CHECK(run->hosts == std::vector<HostShare>{{0, 0, 1}, {1, 1, 1}, {2, 2, 0}, {3, 2, 0}});
}

TEST_CASE("an option that could only be ignored is refused", "[session]") {
  CHECK(good({"++status", "3f2a", "++json", "-"}).view.json == "-");
  CHECK(good({"++list", "++json", "x"}).mode == Mode::list);
  CHECK(has(failure({"++list", "++label"}), "++label has no meaning with ++list; leave it out"));
  CHECK(has(failure({"++status", "++nodelist", "x"}), "++nodelist has no meaning with ++status"));
  CHECK(has(failure({"++end", "++json", "-"}), "++json has no meaning with ++end"));
  CHECK(has(failure({"++plan", "++json", "-"}), "++json has no meaning with ++plan"));
  CHECK(has(failure({"++ccs", "++label"}), "++label has no meaning with ++ccs"));
  CHECK(good({"++doctor", "++json", "-", "++label", "+p4", "./app"}).view.json == "-");
  const Options attach = good({"++attach", "3f2a", "++label", "++no-fold", "++report", "r", "++verbose"});
  CHECK((attach.output.label && !*attach.output.fold && attach.view.report == "r" && attach.view.verbose));
  CHECK(has(failure({"++attach", "++on-failure", "continue"}), "++attach has no use for ++on-failure"));
  CHECK(
      has(failure({"++attach", "+p4"}), "++attach has no use for ++p; a job keeps what it was started with"));
}

TEST_CASE("what was given can be put over other options", "[session]") {
  const Options ours = good({"++attach", "++label", "++no-fold", "++fold-window", "2"});
  CHECK(ours.given == std::vector<std::string_view>{"label", "fold", "fold-window"});
  Options theirs;
  theirs.output.timestamp = true;
  for (const std::string_view name : ours.given) copy_option(*find_option(name), ours, theirs);
  CHECK((theirs.output.label && theirs.output.timestamp && theirs.output.fold == false &&
         theirs.output.fold_window == 2s));
}

TEST_CASE("jobs are ended by name, and sessions alone go into the background", "[session]") {
  CHECK(good({"++kill", "3f2a"}).program == "3f2a");
  CHECK(has(failure({"++kill"}), "++kill needs the job that is to end; charmrun ++kill JOB"));
  CHECK(has(failure({"++kill", "3f2a", "4711"}), "'4711' has no meaning here; charmrun ++kill JOB"));
  CHECK(good({"++detach"}).mode == Mode::detach);
  CHECK(good({"++session", "++background"}).background);
  CHECK(has(failure({"++background", "./app"}), "++background is for sessions"));
  CHECK(has(failure({"++in", "++background", "./app"}), "++background is for the session as a whole"));
}

}  // namespace charmtree::session_options_test
