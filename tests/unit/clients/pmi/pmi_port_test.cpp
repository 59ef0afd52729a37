// SPDX-License-Identifier: Apache-2.0
// Processes that connect themselves (PMI_PORT), and who else does.
#include <catch2/catch.hpp>

#include "tests/unit/pmi_bench.hpp"

namespace charmtree::pmi_port_test {

using namespace charmtree::proto;

namespace {

const std::string kInit = "cmd=init pmi_version=1 pmi_subversion=1\n";

/// Processes 2 and 3 of 4 are awaited; clients are called as they like.
struct Bench : test::PmiBench {
  Bench() : PmiBench(4) {}
  std::string says(ClientId client, std::string_view bytes, Instant now = {}) {
    outputs.clear();
    server.received(client, bytes, now, outputs);
    std::string all;
    for (const ToClient& sent : test::only<ToClient>(outputs)) {
      CHECK(sent.client == client);
      all += sent.bytes;
    }
    return all;
  }
  void opens(ClientId client, Instant now = {}) {
    outputs.clear();
    server.opened(client, now, outputs);
  }
  std::vector<ClientId> closed() const {
    std::vector<ClientId> all;
    for (const CloseClient& each : test::only<CloseClient>(outputs)) all.push_back(each.client);
    return all;
  }
};

}  // namespace

TEST_CASE("a process that connects itself is told who it is, and served", "[pmi]") {
  Bench b;
  b.opens(70);
  b.opens(71);
  CHECK(b.says(71, "cmd=initack pm").empty());
  CHECK(b.says(71, "iid=2\n") == "cmd=initack rc=0\ncmd=set size=4\ncmd=set rank=2\ncmd=set debug=0\n");
  CHECK(b.says(71, kInit) == "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=2\n");
  CHECK(test::only<Joined>(b.outputs).at(0).process == 2);
  const std::string both = b.says(70, "cmd=initack pmiid=3\n" + kInit);
  CHECK(both.starts_with("cmd=initack rc=0\ncmd=set size=4\ncmd=set rank=3\n"));
  CHECK(both.ends_with("cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=2\n"));
  CHECK(b.server.next_deadline() == kNever);
  b.outputs.clear();
  b.server.closed(71, {}, b.outputs);
  CHECK(b.lost() == "it left without MPI_Finalize");
}

TEST_CASE("who has been started by another process is told its rank among those", "[pmi]") {
  Bench b;
  b.server.join(4);
  b.server.begun({0, 0, {{4, {"worker"}, {}, true, {}}}, {{0, 4, 2}}, {}}, b.outputs);
  b.opens(70);
  CHECK(
      b.says(70, "cmd=initack pmiid=4\n").starts_with("cmd=initack rc=0\ncmd=set size=2\ncmd=set rank=0\n"));
}

TEST_CASE("who is not awaited, or says something else, is closed without harm", "[pmi]") {
  for (const std::string first : {"cmd=initack pmiid=1\n", "cmd=initack pmiid=4\n", "cmd=initack pmiid=-2\n",
                                  "cmd=initack pmiid=\n", "cmd=initack\n", "pmiid=2 cmd=initack\n",
                                  "cmd=initack pmiid=99999999999\n", "GET / HTTP/1.1\n", "\n"}) {
    CAPTURE(first);
    Bench b;
    b.opens(70);
    CHECK(b.says(70, first).empty());
    CHECK(b.closed() == std::vector<ClientId>{70});
    CHECK(test::only<ClientNote>(b.outputs).size() == 1);
    b.opens(71);
    b.says(71, first);
    CHECK(test::only<ClientNote>(b.outputs).empty());
    b.opens(72);
    CHECK_FALSE(b.says(72, "cmd=initack pmiid=2\n").empty());
  }
  Bench b;
  b.opens(70);
  b.says(70, std::string(PmiStrangers::kMostHello + 1, 'x'));
  CHECK(b.closed() == std::vector<ClientId>{70});
}

TEST_CASE("a process has one connection, and another one when it is started again", "[pmi]") {
  Bench b;
  for (const ClientId client : {70, 71, 72}) b.opens(client);
  CHECK_FALSE(b.says(70, "cmd=initack pmiid=2\n").empty());
  CHECK(b.says(71, "cmd=initack pmiid=2\n").empty());
  CHECK(b.closed() == std::vector<ClientId>{71});
  b.server.closed(70, {}, b.outputs);
  b.says(72, "cmd=initack pmiid=2\n");
  CHECK(b.closed() == std::vector<ClientId>{72});
  b.server.vacate(2, 1, false, b.outputs);
  b.opens(73);
  CHECK_FALSE(b.says(73, "cmd=initack pmiid=2\n").empty());
  b.connect(3);  // one that was made for it
  b.opens(74);
  b.says(74, "cmd=initack pmiid=3\n");
  CHECK(b.closed() == std::vector<ClientId>{74});
}

TEST_CASE("who does not say who it is has its time, and there are only so many of them", "[pmi]") {
  Bench b;
  b.opens(70);
  CHECK(b.server.next_deadline() == Instant{} + PmiStrangers::kHelloLimit);
  b.server.tick(Instant{} + PmiStrangers::kHelloLimit, b.outputs);
  CHECK(b.closed() == std::vector<ClientId>{70});
  const ClientId most = PmiStrangers::kMost + 2;
  for (ClientId client = 100; client < 100 + most; ++client) {
    b.opens(client);
    CHECK(b.closed().empty());
  }
  b.opens(99);
  CHECK(b.closed() == std::vector<ClientId>{100});
  b.server.closed(101, {}, b.outputs);
  b.opens(98);
  CHECK(b.closed().empty());
}

}  // namespace charmtree::pmi_port_test
