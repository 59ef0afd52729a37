// SPDX-License-Identifier: Apache-2.0
#include "tree/clients/pmix/pmix_server.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <limits>
#include <set>

#include "kvs/fence/messages.hpp"
#include "tests/unit/what_happened.hpp"
#include "tree/wire/message_limits.hpp"

namespace charmtree::pmix_server_test {

using namespace charmtree::proto;
using Pmix = wire::MpiService::Pmix;

namespace {

constexpr auto kService = static_cast<std::uint8_t>(ClientKind::pmix);
constexpr ClientId kHelper = 5;

wire::JobSpec job_with(Pmix pmix) {
  wire::JobSpec job;
  job.processes = 6;
  job.spawn.mpi = {
      wire::MpiService::Pmi::none, pmix, {{0, 1, 2}, {2, 2, 2}}, {"a", "spare", "b", "b"}, "unguessed"};
  return job;
}

/// A server for processes 2 and 3 of 6, on host 2, and its helper.
struct Bench {
  explicit Bench(Pmix pmix = Pmix::needed) : server({2, 2, 6}, job_with(pmix), 2) {
    server.opened(kHelper, at, outputs);
  }
  void says(const pmix::Message& message) {
    outputs.clear();
    server.received(kHelper, pmix::encode(message), at, outputs);
  }
  /// Both of its processes are there.
  void begin() {
    says(pmix::Serving{0, {{"A=2"}, {"A=3"}}});
    for (const std::uint32_t process : {2U, 3U}) says(pmix::Connected{process});
  }
  /// What the helper was told since the last word.
  template <class M>
  std::vector<M> told() const {
    pmix::Decoder decoder{pmix::Decoder::From::launcher};
    for (const ToClient& sent : test::only<ToClient>(outputs)) {
      CHECK(sent.client == kHelper);
      decoder.append(sent.bytes);
    }
    std::vector<pmix::Message> all;
    for (auto message = decoder.next(); message && *message; message = decoder.next())
      all.push_back(std::move(**message));
    return test::only<M>(all);
  }
  template <class O>
  std::vector<O> said() const {
    return test::only<O>(outputs);
  }

  Instant at{1s};
  PmixServer server;
  ClientOutputs outputs;
};

}  // namespace

TEST_CASE("the helper is told what the job is, each node by a name of its own", "[pmix]") {
  Bench b;
  const auto told = b.told<pmix::Describe>();
  REQUIRE(told.size() == 1);
  CHECK(told[0].name_space == "charmtree-unguessed-0");
  REQUIRE(told[0].nodes.size() == 3);
  CHECK((told[0].nodes[0].name == "a" && told[0].nodes[1].name == "b" && told[0].nodes[2].name == "b-3"));
  CHECK(told[0].here() == std::vector<std::uint32_t>{2, 3});
  CHECK((told[0].first == 0 && told[0].size == 6 && !told[0].parent));
  b.says(pmix::Serving{0, {{"A=2"}, {"A=3"}}});
  const auto ready = b.said<ServerReady>();
  REQUIRE(ready.size() == 1);
  CHECK(ready[0].variables.at(3) == std::vector<std::string>{"A=3"});
  CHECK_FALSE(ready[0].failure);
}

TEST_CASE("where PMIx is on offer, nodes have names that no list of hosts is needed for", "[pmix]") {
  wire::JobSpec job = job_with(Pmix::offered);
  job.spawn.mpi.names.clear();
  PmixServer server{{2, 2, 6}, job, 2};
  ClientOutputs outputs;
  server.opened(kHelper, Instant{1s}, outputs);
  pmix::Decoder decoder{pmix::Decoder::From::launcher};
  decoder.append(test::only<ToClient>(outputs).at(0).bytes);
  const auto message = decoder.next();
  REQUIRE((message && *message));
  const auto& job_of_it = get<pmix::Describe>(**message);
  CHECK((job_of_it.host_name == "host2" && job_of_it.nodes.at(2).name == "host3"));
}

TEST_CASE("a host without PMIx is of no use where that is needed, else it goes without", "[pmix]") {
  for (const Pmix pmix : {Pmix::needed, Pmix::offered}) {
    Bench b{pmix};
    b.says(pmix::Failed{"no library", "install one"});
    const auto ready = b.said<ServerReady>();
    REQUIRE(ready.size() == 1);
    CHECK(ready[0].failure.has_value() == (pmix == Pmix::needed));
    CHECK(ready[0].variables.empty());
    CHECK(b.said<CloseClient>().size() == 1);
  }
  Bench gone;
  gone.outputs.clear();
  gone.server.closed(kHelper, gone.at, gone.outputs);
  CHECK(gone.said<ServerReady>().at(0).failure->what == "its PMIx helper has ended");
}

TEST_CASE("a process joins, and ends well or not", "[pmix]") {
  Bench b;
  b.says(pmix::Serving{0, {{}, {}}});
  b.says(pmix::Connected{2});
  CHECK(b.said<Joined>().at(0).process == 2);
  b.says(pmix::Connected{3});
  b.says(pmix::Finalized{2});
  CHECK(b.said<Ended>().at(0).process == 2);
  b.outputs.clear();
  b.server.exited(3, b.outputs);
  CHECK(b.told<pmix::Exited>().at(0).process == 3);
  b.says(pmix::Heard{2});
  CHECK(b.said<ClientLost>().empty());
  b.says(pmix::Heard{3});
  CHECK(b.said<ClientLost>().at(0).why == "it left without MPI_Finalize");
}

TEST_CASE("an abort has its status, and the reason if there is one", "[pmix]") {
  for (const auto& [text, shown] :
       {std::pair{"N/A", "MPI_Abort"}, {"", "MPI_Abort"}, {"no", "MPI_Abort: no"}}) {
    Bench b;
    b.begin();
    b.says(pmix::Aborting{3, 7, text});
    CHECK(b.said<Aborted>().at(0).code == 7);
    CHECK(b.said<Aborted>().at(0).text == shown);
  }
}

TEST_CASE("processes that had joined are lost with their helper", "[pmix]") {
  Bench b;
  b.begin();
  b.says(pmix::Finalized{2});
  b.outputs.clear();
  b.server.closed(kHelper, b.at, b.outputs);
  const auto lost = b.said<ClientLost>();
  REQUIRE(lost.size() == 1);
  CHECK((lost[0].process == 3 && lost[0].is_cause));
}

TEST_CASE("a helper that says what it may not is dropped", "[pmix]") {
  Bench b;
  b.begin();
  b.says(pmix::Connected{4});
  CHECK(b.said<CloseClient>().size() == 1);
  CHECK(b.said<ClientLost>().at(0).why ==
        "its PMIx helper speaks nonsense: a process that is not here has connected");
  b.says(pmix::Finalized{2});
  CHECK(b.outputs.empty());
}

TEST_CASE("fences of a group are numbered, and what all have given goes to the call that waits", "[pmix]") {
  Bench b;
  b.begin();
  b.says(pmix::Entered{11, {{0, 5}}, "mine"});
  auto up = b.said<FenceEntered>();
  REQUIRE(up.size() == 1);
  CHECK(up[0].fence == wire::Fence{kService, {{0, 5}}, 1});
  CHECK((up[0].processes == 2 && up[0].given == "mine"));
  b.says(pmix::Entered{12, {{5, 5}, {3, 3}}, ""});
  up = b.said<FenceEntered>();
  CHECK(up.at(0).fence == wire::Fence{kService, {{3, 3}, {5, 5}}, 1});
  CHECK(up.at(0).processes == 1);
  b.outputs.clear();
  b.server.fenced({up[0].fence, "process 5 is lost", {}}, b.outputs);
  b.server.fenced({{kService, {{0, 5}}, 1}, "", std::make_shared<const std::string>("all")}, b.outputs);
  const auto over = b.told<pmix::Over>();
  REQUIRE(over.size() == 2);
  CHECK((over[0].call == 12 && over[0].failure == "process 5 is lost"));
  CHECK((over[1].call == 11 && over[1].failure.empty() && *over[1].given == "all"));
  b.says(pmix::Entered{13, {{0, 5}}, ""});
  CHECK(b.said<FenceEntered>().at(0).fence.number == 2);
}

TEST_CASE("groups of one name are fences of their own, with a number that all find and no other one has",
          "[pmix]") {
  Bench b;
  b.begin();
  std::vector<wire::Fence> fences;
  for (const auto& [call, name] : {std::pair{11, ""}, {12, "ocean"}, {13, "ice"}, {14, "ocean"}}) {
    b.says(pmix::Entered{static_cast<std::uint64_t>(call), {{0, 5}}, "mine", name});
    fences.push_back(b.said<FenceEntered>().at(0).fence);
  }
  CHECK(fences[1] == wire::Fence{kService, {{0, 5}}, 1, "ocean"});
  CHECK(fences[2] == wire::Fence{kService, {{0, 5}}, 1, "ice"});
  CHECK(fences[3].number == 2);
  b.outputs.clear();
  for (const wire::Fence& each : fences)
    b.server.fenced({each, "", std::make_shared<const std::string>("all")}, b.outputs);
  std::set<std::uint64_t> ids;
  for (const pmix::Over& over : b.told<pmix::Over>()) ids.insert(over.id);
  CHECK(ids.size() == 4);
  CHECK(*ids.begin() > std::numeric_limits<std::uint32_t>::max());
}

TEST_CASE("a group whose name is too long, or one too many at a time, fails alone", "[pmix]") {
  Bench b;
  b.begin();
  b.says(pmix::Entered{11, {{2, 3}}, "", std::string(wire::kMostFenceName + 1, 'n')});
  CHECK(b.told<pmix::Over>().at(0).failure.starts_with("its name is longer than 2048 bytes"));
  const auto enter = [&](std::size_t name) {
    b.says(pmix::Entered{name, {{2, 3}}, "", fmt::format("{}", name)});
  };
  const auto end = [&](std::size_t name) {
    b.server.fenced(
        {{kService, {{2, 3}}, 1, fmt::format("{}", name)}, "", std::make_shared<const std::string>()},
        b.outputs);
  };
  const std::size_t at_once = 2 * wire::kMostFencesAtOnce;  // of two processes
  for (std::size_t i = 0; i < at_once; ++i) enter(i);
  b.says(pmix::Entered{1, {{2, 3}}, "", "too early"});
  CHECK(b.told<pmix::Over>().at(0).failure == "too many fences at a time");
  for (std::size_t i = 0; i < GroupFences::kMost; ++i) {
    if (i >= at_once) enter(i);
    end(i);
  }
  b.says(pmix::Entered{1, {{2, 3}}, "", "7"});
  CHECK(b.said<FenceEntered>().at(0).fence.number == 2);
}

namespace {

wire::Fence named(const std::string& name) {
  return {kService, {{2, 3}}, 1, name};
}

}  // namespace

TEST_CASE("a program may make up names without end; those of long ago are forgotten", "[pmix]") {
  CountedGroups groups;
  groups.use(named("open"))->open = 1;
  groups.use(named("lost"))->fences.fail(1, "a process is lost");
  groups.use(named(""))->fences.enter();
  groups.use(named("often"))->fences.enter();
  groups.use(named("once"))->fences.enter();
  for (std::size_t i = 0; i < 3 * GroupFences::kMost; ++i) {
    REQUIRE(groups.use(named(fmt::format("{}", i))) != nullptr);
    REQUIRE(groups.use(named("often"))->fences.entered == 1);
  }
  CHECK(groups.size() == GroupFences::kMost);
  CHECK(groups.use(named("open"))->open == 1);
  CHECK(groups.use(named("lost"))->fences.failed == 1);
  CHECK(groups.use(named(""))->fences.entered == 1);
  CHECK(groups.use(named("once"))->fences.entered == 0);
}

TEST_CASE("a host counts the fences of all processes, however many names some have used", "[pmix]") {
  Bench b;
  b.begin();
  const auto fence = [&](const std::string& name) {
    b.says(pmix::Entered{1, {{2, 3}}, "", name});
    const auto up = b.said<FenceEntered>();
    REQUIRE(up.size() == 1);
    b.server.fenced({up[0].fence, "", std::make_shared<const std::string>()}, b.outputs);
    b.outputs.clear();
    return up[0].fence.number;
  };
  CHECK(fence("") == 1);
  for (std::size_t i = 0; i < 2 * GroupFences::kMost; ++i) REQUIRE(fence(fmt::format("{}", i)) == 1);
  CHECK(fence("") == 2);
}

TEST_CASE("where all groups that a host knows are in a fence, one more is refused", "[pmix]") {
  CountedGroups groups;
  for (std::size_t i = 0; i < GroupFences::kMost; ++i) groups.use(named(fmt::format("{}", i)))->open = 1;
  CHECK(groups.use(named("one more")) == nullptr);
  groups.use(named("5"))->open = 0;
  CHECK(groups.use(named("one more")) != nullptr);
}

TEST_CASE("a group that lies in more ranges than a launcher may say fails alone", "[pmix]") {
  wire::JobSpec job = job_with(Pmix::needed);
  const std::uint32_t total = 4 * static_cast<std::uint32_t>(wire::kMostFenceRanges);
  PmixServer server{{2, 2, total}, job, 2};
  ClientOutputs outputs;
  server.opened(kHelper, Instant{1s}, outputs);
  for (const std::uint32_t more : {0U, 1U}) {
    pmix::Entered entered;
    for (std::uint32_t i = 0; i < wire::kMostFenceRanges + more; ++i)
      entered.processes.push_back({2 + 2 * i, 2 + 2 * i});
    outputs.clear();
    server.received(kHelper, pmix::encode(entered), Instant{1s}, outputs);
    const auto up = test::only<FenceEntered>(outputs);
    CHECK(up.size() == 1 - more);
    if (more == 0)
      CHECK(wire::encode_frames(kvs::FenceUp{up.at(0).fence, 0, up.at(0).processes, up.at(0).given})->size() <
            wire::kMaxSaid);
  }
}

TEST_CASE("what the library itself has to say is shown", "[pmix]") {
  Bench b;
  b.begin();
  b.says(pmix::Logged{7, wire::kNoProcess, "31 more have said so\n"});
  CHECK(b.said<Printed>().at(0).process == 2);
  CHECK(b.said<Printed>().at(0).text == "31 more have said so\n");
  CHECK(b.told<pmix::Taken>().at(0).call == 7);
}

TEST_CASE("a fence that has failed before it was entered here fails then", "[pmix]") {
  Bench b;
  b.begin();
  b.server.fenced({{kService, {{0, 5}}, 1}, "process 5 is lost", {}}, b.outputs);
  b.says(pmix::Entered{11, {{0, 5}}, ""});
  CHECK(b.said<FenceEntered>().empty());
  CHECK(b.told<pmix::Over>().at(0).failure == "process 5 is lost");
}

TEST_CASE("what another host's process has given is asked for until it is answered, or the process lost",
          "[pmix]") {
  Bench b;
  b.begin();
  b.says(pmix::Inquiring{21, 5});
  const auto asked = b.said<wire::Inquiry>();
  REQUIRE(asked.size() == 1);
  CHECK((asked[0].process == 2 && asked[0].about == 5));
  CHECK(b.server.next_deadline() == b.at + 5s);
  b.outputs.clear();
  b.server.tick(b.at + 5s, b.outputs);
  CHECK(b.said<wire::Inquiry>().at(0).id == asked[0].id);
  b.outputs.clear();
  b.server.answered({2, 4, asked[0].id, "", "of another one"}, b.outputs);
  CHECK(b.outputs.empty());
  b.server.answered({2, 5, asked[0].id, "", "given"}, b.outputs);
  CHECK(*b.told<pmix::Over>().at(0).given == "given");
  CHECK(b.server.next_deadline() == kNever);
  b.says(pmix::Inquiring{22, 4});
  b.outputs.clear();
  b.server.lost({{4, 4}}, b.outputs);
  CHECK(b.told<pmix::Lost>().at(0).processes == std::vector<wire::ProcessSet::Range>{{4, 4}});
  CHECK(b.told<pmix::Over>().at(0).failure == "it is lost");
}

TEST_CASE("another host is told what a process here has given, once for each time it asks", "[pmix]") {
  Bench b;
  b.begin();
  b.outputs.clear();
  for (int again = 0; again < 2; ++again) b.server.inquired({3, 5, {kService, 9}}, b.outputs);
  const auto wanted = b.told<pmix::Wanted>();
  REQUIRE(wanted.size() == 1);
  b.says(pmix::Given{wanted[0].call, "", "card"});
  const auto reply = b.said<wire::InquiryReply>();
  REQUIRE(reply.size() == 1);
  CHECK(
      (reply[0].process == 3 && reply[0].asker == 5 && reply[0].id.number == 9 && reply[0].bytes == "card"));
}

TEST_CASE("a name is asked for over the root", "[pmix]") {
  Bench b;
  b.begin();
  b.says(pmix::Naming{31, 3, wire::NameInquiry::Deed::look_up, "ocean", ""});
  const auto asked = b.said<wire::NameInquiry>();
  REQUIRE(asked.size() == 1);
  b.outputs.clear();
  b.server.answered({3, wire::kNoProcess, asked[0].id, "", "port"}, b.outputs);
  const auto named = b.told<pmix::Named>();
  CHECK((named.at(0).call == 31 && named[0].value == "port"));
}

TEST_CASE("processes of a world that begins wait for the helper's word", "[pmix]") {
  Bench b;
  b.begin();
  b.says(pmix::Bearing{51, 3, {{{0, {"worker"}, {}, false, {}}, 4, {}}}});
  const auto wanted = b.said<wire::WorldWanted>();
  REQUIRE(wanted.size() == 1);
  CHECK((wanted[0].process == 3 && wanted[0].programs.at(0).processes == 4));
  b.outputs.clear();
  for (const std::uint32_t process : {7U, 9U}) b.server.join(process);
  b.server.begun({kService,
                  3,
                  {{6, {"worker"}, {}, true, {}}, {9, {"other"}, {}, false, {}}},
                  {{0, 6, 1}, {2, 7, 1}, {3, 8, 1}, {2, 9, 1}},
                  {}},
                 b.outputs);
  const auto told = b.told<pmix::Describe>();
  REQUIRE(told.size() == 1);
  CHECK(told[0].name_space == "charmtree-unguessed-0-6");
  CHECK((told[0].first == 6 && told[0].size == 4 && told[0].parent == 3U));
  CHECK(told[0].here() == std::vector<std::uint32_t>{1, 3});
  CHECK(told[0].programs == std::vector<std::uint32_t>{0, 3});
  b.outputs.clear();
  b.server.answered({3, wire::kNoProcess, wanted[0].id, "", "6"}, b.outputs);
  const auto born = b.told<pmix::Born>();
  CHECK((born.at(0).call == 51 && born[0].failure.empty() && born[0].first == 6));
  b.says(pmix::Serving{6, {{"A=7"}, {"A=9"}}});
  const auto ready = b.said<ServerReady>();
  CHECK(ready.at(0).variables.at(9) == std::vector<std::string>{"A=9"});
  b.says(pmix::Connected{9});
  CHECK(b.said<Joined>().at(0).process == 9);
  b.says(pmix::Entered{52, {{0, 5}, {6, 9}}, ""});  // parents and children together
  CHECK(b.said<FenceEntered>().at(0).fence.processes == std::vector<wire::ProcessSet::Range>{{0, 9}});
  CHECK(b.said<FenceEntered>().at(0).processes == 4);
}

TEST_CASE("a helper that comes late is told of all worlds", "[pmix]") {
  PmixServer server{{6, 0, 6}, job_with(Pmix::needed), 1};
  ClientOutputs out;
  server.join(6);
  server.begun({kService, 3, {{6, {"worker"}, {}, true, {}}}, {{1, 6, 1}}, {}}, out);
  CHECK(out.empty());
  server.opened(kHelper, Instant{1s}, out);
  CHECK(test::only<ToClient>(out).size() == 2);
}

TEST_CASE("text for the user is printed, and then the next may come", "[pmix]") {
  Bench b;
  b.begin();
  b.says(pmix::Logged{41, 2, "help"});
  CHECK(b.said<Printed>().at(0).text == "help");
  CHECK(b.told<pmix::Taken>().at(0).call == 41);
}

}  // namespace charmtree::pmix_server_test
