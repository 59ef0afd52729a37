// SPDX-License-Identifier: Apache-2.0
// One launcher's share in repairing the tree; whole trees: node_adoption_test.cpp, node_takeover_test.cpp.
#include "health/repairs.hpp"

#include "health/adoption_socket.hpp"
#include "tests/unit/part_bench.hpp"

namespace charmtree::repairs_test {

using namespace charmtree::proto;

namespace {

const Error kGone{Errc::link_lost, Phase::run, "connection reset"};

struct Bench final : test::PartBench {
  Bench() : PartBench(Role::below) {
    job.heartbeat = {1s, 5s, 5s};
    job.loss.recovery = wire::Recovery::go_on;
    job.id = "job";
    job.secret = "secret";
    lost = child();
    launch.find(lost)->lost();
    part.begin(*launch.find(lost), kGone, *this);
    visit = take<Login>().at(0).link;
    launch.on(LinkUp{visit, {}, {}, {}}, now(), actions);
  }
  template <class N>
  std::size_t told() const {
    return static_cast<std::size_t>(
        std::count_if(news.begin(), news.end(), [](const News& each) { return holds_alternative<N>(each); }));
  }
  bool up(const wire::Message& message) { return part.up(*launch.find(visit), visit, message, *this); }
  wire::Claim claim() {
    for (const Send& send : take<Send>()) {
      if (const auto* each = get_if<wire::Claim>(&send.message)) return *each;
    }
    FAIL("nobody was claimed");
    return {};
  }
  std::string proof(const char* what, const std::string& ours) const {
    return health::adoption_proof(job, what, 0, {"theirs", ours});
  }

  Random chance{1};
  health::Repairs part{chance};
  LinkId lost = 0, visit = 0;
};

}  // namespace

TEST_CASE("a launcher that waits is claimed, and ours when it has shown the secret", "[repairs]") {
  Bench b;
  health::Repairs::arrived(0, b.visit, b);
  CHECK(get<wire::Adopt>(b.take<Send>().at(0).message).socket == health::adoption_socket(b.job, 0));
  CHECK(b.up(wire::Waiting{0, "theirs"}));
  CHECK(b.told<LauncherClaimed>() == 1);
  CHECK(b.part.is_claimed(b.visit));
  const wire::Claim claim = b.claim();
  CHECK(claim.proof == b.proof("claim", claim.nonce));
  CHECK(b.up(wire::Claimed{b.proof("claimed", claim.nonce), 0, {}, {}, false}));
  CHECK(b.told<LauncherFound>() == 1);
  CHECK(b.told<LauncherLost>() == 0);
  CHECK(b.part.next_deadline() == kNever);
}

TEST_CASE("who cannot show the secret is given up", "[repairs]") {
  Bench b;
  CHECK(b.up(wire::Waiting{0, "theirs"}));
  CHECK(b.up(wire::Claimed{"made up", 0, {}, {}, false}));
  CHECK(b.given_up.size() == 1);
  CHECK(b.told<LauncherFound>() == 0);
}

TEST_CASE("who is not there, or is not found in time, is lost with its processes", "[repairs]") {
  Bench b;
  SECTION("nobody waits there") {
    CHECK(b.up(wire::Swept{}));
  }
  SECTION("no answer") {
    while (b.part.next_deadline() != kNever) {
      b.at(b.part.next_deadline());
      b.part.turn(b);
    }
  }
  REQUIRE(b.told<LauncherLost>() == 1);
  for (const News& each : b.news) {
    const auto* told = get_if<LauncherLost>(&each);
    if (told == nullptr) continue;
    CHECK(told->lost.host == 0);
    REQUIRE(told->lost.processes.size() == 1);
    CHECK(told->lost.processes[0].first == 4);
    CHECK(told->lost.processes[0].last == 4);
  }
}

TEST_CASE("who has been adopted by another says so, and we are given up", "[repairs]") {
  Bench b;
  CHECK(b.up(wire::Waiting{0, "theirs"}));
  const wire::Claim claim = b.claim();
  CHECK(b.up(wire::Taken{b.proof("taken", claim.nonce)}));
  CHECK(b.told<GivenUp>() == 1);
}

}  // namespace charmtree::repairs_test
