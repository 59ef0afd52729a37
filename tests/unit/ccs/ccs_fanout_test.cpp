// SPDX-License-Identifier: Apache-2.0
#include "ccs/ccs_fanout.hpp"

#include <catch2/catch.hpp>

namespace charmtree::ccs_fanout_test {

using namespace charmtree::proto;
using Range = wire::ProcessSet::Range;

namespace {

constexpr LinkId kLeft = 1, kRight = 2;

/// A launcher with processes 2 and 3; those of hosts 1 (4, 5) and 3 (8, 9) are below the left child, those of
/// host 2 (6, 7) below the right one.
struct Bench {
  Bench() {
    const std::uint32_t links[] = {kLeft, kRight, kLeft};
    for (std::uint32_t i = 0; i < 3; ++i) {
      Host host;
      host.index = i + 1;
      host.first_process = 4 + 2 * i;
      host.processes = 2;
      subtree.add(host);
      subtree.bind(host.index, links[i]);
    }
  }
  CcsFanout::Targets spread(wire::CcsSpread piece) { return fanout.spread(piece, subtree, local, failed); }
  std::optional<CcsFanout::Answer> own(std::uint32_t process, const std::string& bytes,
                                       std::uint32_t token = 1) {
    return fanout.answered({kParentLink, process},
                           {process, token, true, static_cast<std::uint32_t>(bytes.size()), bytes}, subtree);
  }
  std::optional<CcsFanout::Answer> below(LinkId link, std::vector<wire::CcsReplies::Part> parts) {
    const std::string bytes = wire::encode(wire::CcsReplies{{}, std::move(parts)});
    return fanout.answered({link}, {4, 1, true, static_cast<std::uint32_t>(bytes.size()), bytes}, subtree);
  }

  Subtree subtree;
  LocalProcesses local{2, 2, 10};
  CcsFanout fanout;
  std::optional<CcsFanout::Answer> failed;
};

}  // namespace

TEST_CASE("a request for everybody goes to every child and own process, and one answer comes back", "[ccs]") {
  Bench bench;
  const auto targets = bench.spread({1, true, true, true, {}, "payload"});
  CHECK(targets.own == std::vector<std::uint32_t>{2, 3});
  CHECK(targets.below.size() == 2);
  CHECK(bench.fanout.take_payload() == "payload");
  CHECK(bench.fanout.awaits(1));
  CHECK_FALSE(bench.own(2, "c"));
  CHECK_FALSE(bench.own(2, "again"));
  CHECK_FALSE(bench.below(kLeft, {{4, "e"}, {5, "f"}, {8, "i"}, {9, "j"}}));
  CHECK_FALSE(bench.own(3, "d"));
  const auto answer = bench.below(kRight, {{6, "g"}, {7, "h"}});
  REQUIRE(answer);
  CHECK(wire::CcsReplies{answer->replies}.whole() == "cdefghij");
  CHECK_FALSE(bench.fanout.awaits(1));
}

TEST_CASE("a request for some goes to no others, its list in parts", "[ccs]") {
  Bench bench;
  const auto targets = bench.spread({1, true, true, false, {{0, 0}, {3, 4}, {9, 12}}, "payload"});
  CHECK(targets.own == std::vector<std::uint32_t>{3});
  REQUIRE(targets.below.size() == 1);
  CHECK(targets.below.at(kLeft) == std::vector<Range>{{4, 4}, {9, 9}});
  CHECK(bench.spread({2, true, true, false, {{4, 9}}, ""}).below.at(kRight) == std::vector<Range>{{6, 7}});
  CHECK_FALSE(bench.failed);
  CHECK(bench.spread({3, true, true, false, {{0, 1}}, ""}).below.empty());
  REQUIRE(bench.failed);
  CHECK(bench.failed->failure == "there are no such processes");
  CHECK_FALSE(bench.fanout.awaits(3));
}

TEST_CASE("pieces of a request and of answers come together again", "[ccs]") {
  Bench bench;
  bench.spread({1, true, false, false, {{2, 2}}, "pay"});
  CHECK(bench.spread({1, false, true, false, {}, "load"}).own == std::vector<std::uint32_t>{2});
  CHECK(bench.fanout.take_payload() == "payload");
  CHECK(bench.spread({9, false, true, false, {}, "of another"}).own.empty());
  CHECK_FALSE(bench.fanout.answered({kParentLink, 2}, {2, 1, true, 4, "re"}, bench.subtree));
  const auto answer = bench.fanout.answered({kParentLink, 2}, {2, 1, true, 4, "ply"}, bench.subtree);
  REQUIRE(answer);
}

TEST_CASE("one that fails, or a child that is lost, fails the request", "[ccs]") {
  Bench bench;
  bench.spread({1, true, true, true, {}, ""});
  auto answer = bench.fanout.answered({kRight}, {6, 1, true, 0, {}, "process 7 has ended"}, bench.subtree);
  REQUIRE(answer);
  CHECK(answer->failure == "process 7 has ended");
  CHECK(answer->process == 6);
  CHECK_FALSE(bench.own(2, "late"));

  bench.spread({2, true, true, true, {}, ""});
  bench.spread({3, true, true, false, {{4, 4}}, ""});
  bench.spread({4, true, true, false, {{6, 6}}, ""});
  const auto lost = bench.fanout.lost(kLeft, 4, "gone");
  REQUIRE(lost.size() == 2);
  CHECK(lost[0].token == 2);
  CHECK(lost[1].failure == "gone");
  CHECK(bench.fanout.awaits(4));
  CHECK(bench.fanout.lost(kLeft, 4, "gone").empty());
}

TEST_CASE("what a child says that is no answer fails the request, too", "[ccs]") {
  Bench bench;
  bench.spread({1, true, true, false, {{4, 6}}, ""});
  const auto answer = bench.fanout.answered({kLeft}, {4, 1, true, 3, "???"}, bench.subtree);
  REQUIRE(answer);
  CHECK(answer->failure == "malformed CCS replies");
  CHECK_FALSE(bench.fanout.answered({kRight}, {4, 1, true, 3, "???"}, bench.subtree));
}

TEST_CASE("a child answers for those alone that are below it", "[ccs]") {
  Bench bench;
  bench.spread({1, true, true, false, {{2, 6}}, ""});
  const auto answer = bench.below(kLeft, {{4, "e"}, {6, "forged"}});
  REQUIRE(answer);
  CHECK(answer->failure == "a launcher answered for process 6, which is not below it");
  CHECK_FALSE(bench.fanout.awaits(1));
}

TEST_CASE("of requests that are never answered the oldest are given up", "[ccs]") {
  Bench bench;
  constexpr std::uint32_t kFirst = 9000;  // tokens are in no order
  for (std::uint32_t i = 0; i < CcsFanout::kMaxUnanswered; ++i)
    bench.spread({kFirst - i, true, true, false, {{2, 2}}, ""});
  CHECK_FALSE(bench.failed);
  CHECK_FALSE(bench.spread({4000, true, true, false, {{2, 2}}, "more"}).own.empty());
  REQUIRE(bench.failed);
  CHECK(bench.failed->token == kFirst);
  CHECK(bench.failed->process == 2);
  CHECK_FALSE(bench.fanout.awaits(kFirst));
  REQUIRE(bench.own(2, "at last", 4000));
}

TEST_CASE("replies that wait for others have a limit of bytes", "[ccs]") {
  Bench bench;
  const std::string large(48U << 20, 'x');
  for (std::uint32_t token = 1; token <= 5; ++token) {
    bench.spread({token, true, true, false, {{2, 3}}, ""});
    CHECK_FALSE(bench.own(2, large, token));
  }
  bench.spread({6, true, true, false, {{2, 3}}, ""});
  const auto answer = bench.own(2, large, 6);
  REQUIRE(answer);
  CHECK(answer->failure == "too many bytes of replies wait for others");
  REQUIRE(bench.own(3, "", 1));
  bench.spread({7, true, true, false, {{2, 3}}, ""});
  CHECK_FALSE(bench.own(2, large, 7));
}

}  // namespace charmtree::ccs_fanout_test
