// SPDX-License-Identifier: Apache-2.0
// Who may take the place of a launcher's parent, and when it waits for one no longer.
#include <catch2/catch.hpp>

#include "health/adoption_socket.hpp"
#include "tests/unit/one_launcher.hpp"
#include "tree/base/signals.hpp"
#include "tree/overlay/keyed_hash.hpp"

namespace charmtree::node_adoption_test {

using namespace charmtree::proto;
using namespace charmtree::test;

namespace {

constexpr std::uint32_t kLevel = 2;

/// A launcher of a job that goes on, with a process, and with the launcher of `below` below it.
struct Inner : OneLauncher {
  explicit Inner(std::uint32_t below = 0) : OneLauncher(std::uint64_t{7}), plan(make_plan(below + 1)) {
    plan.job.loss.recovery = wire::Recovery::go_on;
    plan.job.secret = "secret";
    on(LinkMessage{kParentLink, wire::Welcome{wire::encode(plan.job), plan.hosts[0], kLevel}});
    if (below > 0) {
      on(LinkMessage{kParentLink, wire::Assign{{plan.hosts.begin() + 1, plan.hosts.end()}}});
      note_logins();
    }
    on(Prepared{1});
    bool spawned = count<Spawn>() > 0;
    while (!spawned || links.size() < below) {
      tick();
      note_logins();
      spawned = spawned || count<Spawn>() > 0;
    }
    on(Spawned{0});
    for (const LinkId link : links) on(LinkUp{link, {}, {}, {}});
    for (std::uint32_t i = 0; i < links.size(); ++i) {
      wire::Facts facts;
      facts.hosts_up = {i + 1};
      on(LinkMessage{links[i], facts});
    }
  }

  void note_logins() {
    for (const Action& action : out) {
      if (const auto* login = get_if<Login>(&action)) links.push_back(login->link);
    }
  }
  std::string proof(const char* of, const std::string& theirs, const std::string& ours) const {
    return keyed_hash(plan.job.secret, of + (" " + plan.job.id) + " 0 " + theirs + ours);
  }
  /// Somebody comes who claims to be the parent, at that level of the tree.
  void claim(std::uint32_t level, bool knows_secret = true) {
    on(LinkUp{kAdopterLink, {}, {}, {}});
    REQUIRE(sent<wire::Waiting>(kAdopterLink) != nullptr);
    nonce = sent<wire::Waiting>(kAdopterLink)->nonce;
    wire::Claim claim{"mine", knows_secret ? proof("claim", nonce, "mine") : "guessed", level};
    on(LinkMessage{kAdopterLink, claim});
  }
  bool kills() const {
    const auto* signal = first<Signal>();
    return signal != nullptr && signal->signal == signals::kKill;
  }

  RootPlan plan;
  std::vector<LinkId> links;
  std::string nonce;
};

const Error kLost{Errc::link_lost, Phase::run, "reset"};

}  // namespace

TEST_CASE("a launcher without a parent waits three seconds to be adopted, then kills", "[adoption]") {
  Inner inner;
  inner.on(LinkDown{kParentLink, kLost});
  CHECK_FALSE(inner.kills());
  const Instant until = inner.now + 3s;
  while (inner.node.next_deadline() < until) {
    inner.tick();
    CHECK_FALSE(inner.kills());
  }
  inner.now = until;
  inner.on(Tick{});
  CHECK(inner.kills());
}

TEST_CASE("who is nearer to the root and knows the secret adopts", "[adoption]") {
  Inner inner;
  inner.on(LinkDown{kParentLink, kLost});
  inner.claim(0);
  CHECK(inner.count<ReplaceParent>() == 1);
  REQUIRE(inner.sent<wire::Claimed>(kParentLink) != nullptr);
  CHECK(inner.sent<wire::Claimed>(kParentLink)->proof == inner.proof("claimed", inner.nonce, "mine"));
  inner.now += 10s;
  inner.on(Tick{});
  CHECK_FALSE(inner.kills());
}

TEST_CASE("who guesses is sent away and told nothing", "[adoption]") {
  Inner inner;
  inner.on(LinkDown{kParentLink, kLost});
  inner.claim(0, false);
  CHECK(inner.count<ReplaceParent>() == 0);
  CHECK(inner.count<Send>() == 0);
  REQUIRE(inner.first<CloseLink>() != nullptr);
  CHECK(inner.first<CloseLink>()->link == kAdopterLink);
}

TEST_CASE("who is no nearer to the root than we are is told that we are taken", "[adoption]") {
  Inner inner;
  inner.claim(kLevel);
  CHECK(inner.count<ReplaceParent>() == 0);
  REQUIRE(inner.sent<wire::Taken>(kAdopterLink) != nullptr);
  CHECK(inner.sent<wire::Taken>(kAdopterLink)->proof == inner.proof("taken", inner.nonce, "mine"));
  CHECK(inner.first<CloseLink>()->link == kAdopterLink);
}

TEST_CASE("who is adopted tells the parent that it had", "[adoption]") {
  Inner inner;
  inner.claim(0);
  REQUIRE(inner.count<ReplaceParent>() == 1);
  CHECK(inner.sent<wire::Taken>(kParentLink) != nullptr);
}

TEST_CASE("a launcher whose child was taken from it ends alone", "[adoption]") {
  Inner inner{2};
  REQUIRE(inner.links.size() == 2);
  inner.on(LinkMessage{inner.links[0], wire::Taken{}});
  CHECK(inner.kills());
  CHECK(inner.count<CloseLink>() == 2);
  CHECK(inner.sent<wire::End>(inner.links[1]) == nullptr);
  CHECK(inner.count<Login>() == 0);
}

TEST_CASE("where a launcher waits shows only to who knows the secret of the job, and for one host",
          "[adoption]") {
  wire::JobSpec job;
  job.id = "0123456789abcdef";
  job.secret = "secret";
  const std::string name = health::adoption_socket(job, 1);
  CHECK(name.starts_with("@charmtree-adoption-"));
  CHECK(name.size() < 100);  // of a unix-domain socket: 107
  CHECK(name.find(job.id) == std::string::npos);
  CHECK(health::adoption_socket(job, 1) == name);
  CHECK(health::adoption_socket(job, 2) != name);
  wire::JobSpec other = job;
  other.secret = "guessed";
  CHECK(health::adoption_socket(other, 1) != name);
}

TEST_CASE("who is to adopt a launcher is told where it waits", "[adoption]") {
  OneLauncher relay{std::uint64_t{7}};
  relay.on(LinkMessage{kParentLink, wire::Adopt{"0123456789abcdef", 4, "@there"}});
  REQUIRE(relay.first<Relay>() != nullptr);
  CHECK(relay.first<Relay>()->socket == "@there");
  CHECK(relay.first<Relay>()->host == 4);
  relay.on(NobodyWaits{});
  REQUIRE(relay.first<KillLeftovers>() != nullptr);
  CHECK(relay.first<KillLeftovers>()->host == 4);
}

}  // namespace charmtree::node_adoption_test
