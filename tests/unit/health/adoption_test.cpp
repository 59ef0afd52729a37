// SPDX-License-Identifier: Apache-2.0
// One launcher that is adopted; whole trees: node_adoption_test.cpp.
#include "health/adoption.hpp"

#include "tests/unit/part_bench.hpp"
#include "tree/job/host_part.hpp"

namespace charmtree::adoption_test {

using namespace charmtree::proto;

namespace {

/// A launcher two levels below the root, whose processes run.
struct Bench final : test::PartBench {
  Bench() : PartBench(Role::below) {
    job.id = "job";
    job.secret = "secret";
    job.loss.recovery = wire::Recovery::go_on;
    job.processes = 1;
    self.processes = 1;
    place = {std::make_shared<wire::JobSpec>(job), self, 2};
    host.begin(true, *this);
    host.on(Prepared{}, *this);
    host.spawn(*this);
    host.on(Spawned{0}, *this);
    actions.clear();
  }
  Seat seat() override {
    return {job, self, launch, host.processes(), progress, place.level, is_ending, nullptr};
  }
  /// What the part has told whoever has come.
  std::string nonce() {
    part.offer(*this);
    for (const Send& send : take<Send>()) {
      if (const auto* waiting = get_if<wire::Waiting>(&send.message)) return waiting->nonce;
    }
    return {};
  }
  wire::Claim claim(const std::string& ours, std::uint32_t level) const {
    return {"theirs", health::adoption_proof(job, "claim", 0, {ours, "theirs"}), level, 3};
  }
  std::string proof(const char* what, const std::string& ours) const {
    return health::adoption_proof(job, what, 0, {ours, "theirs"});
  }

  proto::Place place;
  StartupTimes times;
  HostPart host{place, times};
  Random chance{1};
  health::Adoption part{chance};
};

}  // namespace

TEST_CASE("a launcher lets itself be adopted by whoever knows the secret, nearer to the root", "[adoption]") {
  Bench b;
  const std::string nonce = b.nonce();
  REQUIRE_FALSE(nonce.empty());
  b.part.up(b.claim(nonce, 1), b);
  const auto sent = b.take<Send>();
  REQUIRE(sent.size() == 3);
  CHECK(holds_alternative<wire::Taken>(sent[0].message));  // to the parent that lives
  CHECK(get<wire::Claimed>(sent[1].message).proof == b.proof("claimed", nonce));
  CHECK(holds_alternative<wire::Hello>(sent[2].message));
  REQUIRE(b.news.size() == 1);
  CHECK(get<ParentReplaced>(b.news[0]).claim.epoch == 3);
  SECTION("once") {
    b.part.up(b.claim(nonce, 1), b);
    CHECK(b.take<CloseLink>().size() == 1);
    CHECK(b.news.size() == 1);
  }
}

TEST_CASE("one from further below learns that we are taken", "[adoption]") {
  Bench b;
  const std::string nonce = b.nonce();
  b.part.up(b.claim(nonce, 2), b);
  const auto sent = b.take<Send>();
  REQUIRE(sent.size() == 1);
  CHECK(get<wire::Taken>(sent[0].message).proof == b.proof("taken", nonce));
  CHECK(b.news.empty());
}

TEST_CASE("nobody else adopts us", "[adoption]") {
  Bench b;
  SECTION("without our nonce") {
    b.part.up(b.claim("guessed", 0), b);
  }
  SECTION("without the proof") {
    b.nonce();
    b.part.up(wire::Claim{"theirs", "made up", 0}, b);
  }
  SECTION("by another word") {
    b.nonce();
    b.part.up(wire::Relayed{}, b);
  }
  SECTION("while the job ends") {
    const std::string nonce = b.nonce();
    b.is_ending = true;
    b.part.up(b.claim(nonce, 0), b);
  }
  CHECK(b.take<CloseLink>().at(0).link == kAdopterLink);
  CHECK(b.news.empty());
}

TEST_CASE("whoever comes where nobody may be adopted is sent away", "[adoption]") {
  Bench b;
  SECTION("a job that ends with a loss") {
    b.job.loss = {};
  }
  SECTION("one that ends") {
    b.is_ending = true;
  }
  SECTION("tuples have gone up, and there is no table yet") {
    b.progress.any_registered = true;
  }
  CHECK(b.nonce().empty());
}

TEST_CASE("only those next to the root wait for another root", "[adoption]") {
  Bench b;
  b.place.level = 1;
  CHECK_FALSE(health::Adoption::awaits_root(b.seat()));
  b.job.loss.keep_alive = 1h;
  CHECK(health::Adoption::awaits_root(b.seat()));
  b.place.level = 2;
  CHECK_FALSE(health::Adoption::awaits_root(b.seat()));
}

}  // namespace charmtree::adoption_test
