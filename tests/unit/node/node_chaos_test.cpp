// SPDX-License-Identifier: Apache-2.0
// Random worlds with random faults: whatever happens, the job ends, says why, and leaves nothing behind.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "tests/unit/rounds.hpp"
#include "tests/unit/small_world.hpp"
#include "tree/wire/ssh_blob.hpp"
#include "tree/wire/userauth.hpp"

namespace charmtree::node_chaos_test {

using namespace charmtree::proto;
using namespace charmtree::test;

namespace {

constexpr Duration kLogin = 2s;  // a login that fails does so by then

/// What the logins that need a signature have signed.
wire::UserauthRequest login_to_sign() {
  wire::UserauthRequest request{std::string(32, 's'), "joe", "ssh-ed25519", {}};
  wire::append_string(request.key, request.algorithm);
  return request;
}

Plan draw_plan(Random& random) {
  Plan plan;
  plan.hosts = 1 + static_cast<std::uint32_t>(random.below(26));
  plan.slots = {1 + static_cast<std::uint32_t>(random.below(4)), 1};
  const wire::Shape shapes[] = {{0, 0}, {1, 0}, {2, 0}, {4, 0}, {2, 2}, {26, 1}};
  plan.shape = shapes[random.below(6)];
  plan.batch = static_cast<std::uint32_t>(random.below(4));
  plan.seed = random.next();
  plan.user = login_to_sign().user;
  plan.forwarded_keys = {login_to_sign().key};
  return plan;
}

/// One host in ten is unreachable for some: for everybody, for all but the root, or for half of the
/// launchers. One launcher in three has no keys of its own.
std::function<Outcome(const Try&)> draw_logins(Random& random) {
  const std::uint64_t salt = random.next();
  return [salt](const Try& each) -> Outcome {
    Random dice{salt + each.host};
    const std::string wanted =
        each.from != wire::kRootIndex && (salt + each.from) % 3 == 0 ? wire::encode(login_to_sign()) : "";
    if (dice.below(10) != 0) return {{}, 0ms, {}, wanted};
    const Errc codes[] = {Errc::refused, Errc::timed_out, Errc::no_such_host, Errc::not_authorised,
                          Errc::no_usable_key};
    const Error error{codes[dice.below(5)], Phase::connect, "drawn"};
    const Duration after = dice.between(1ms, kLogin);
    const std::uint64_t whom = dice.below(4);
    const bool fails = whom < 2 || (whom == 2 ? each.from != wire::kRootIndex : each.from % 2 == 0);
    if (fails) return {error, after, {}};
    return {{}, 0ms, {}, wanted};
  };
}

/// One that refuses now and then.
std::function<std::string(const Sign&)> draw_agent(Random& random) {
  return [dice = Random{random.next()}](const Sign& sign) mutable {
    return dice.below(10) == 0 ? std::string{} : "signed " + sign.data;
  };
}

void draw_actors(Random& random, SmallWorld& world) {
  const bool plain = random.below(3) == 0;
  for (Actor& actor : world.actors) {
    actor.kind = plain ? Actor::Kind::plain : Actor::Kind::charm;
    actor.life = random.between(1ms, 500ms);
    actor.chunks = {"a\nb", "c\n"};
    actor.stubborn = random.below(4) == 0;
    actor.outlives_launcher = random.below(2) == 0;
    if (random.below(60) != 0) continue;
    actor.fate = random.below(2) == 0 ? Actor::Fate::aborts : Actor::Fate::exits;
    actor.code = static_cast<std::uint8_t>(random.below(4));
    actor.signal = random.below(3) == 0 ? 11 : 0;
  }
}

/// Something bad at some time; an act that finds nobody there is none.
void draw_fault(Random& random, SmallWorld& world) {
  const Duration when = random.between(1ms, 6s);
  const auto host = static_cast<std::uint32_t>(random.below(world.hosts().size()));
  const auto kind = random.below(5);
  world.at(when, [&world, host, kind] {
    try {
      if (kind == 0) world.kill_launcher(host);
      if (kind == 1) world.cut_link(host);
      if (kind == 2) world.user_signal(2);
      if (kind == 3) world.kill_process(world.hosts()[host].first_process, 9);
    } catch (const NobodyThere&) {
    }
  });
}

}  // namespace

TEST_CASE("whatever happens, the job ends, says why and leaves nothing behind", "[chaos]") {
  std::map<int, int> ends;  // status -> how often
  std::size_t signatures = 0;
  const std::uint32_t worlds = rounds(150, 500);
  for (std::uint64_t seed = 0; seed < worlds; ++seed) {
    CAPTURE(seed);
    Random random{seed};
    SmallWorld world{draw_plan(random)};
    world.login = draw_logins(random);
    world.agent = draw_agent(random);
    draw_actors(random, world);
    const int faults = static_cast<int>(random.below(3));
    for (int i = 0; i < faults; ++i) draw_fault(random, world);
    world.run();
    REQUIRE(world.result);
    ++ends[world.result->status];
    signatures += world.signs.size();
    CHECK(world.alive() == 0);
    CHECK(world.last_exit_at <= world.result_at + 1s);
    if (world.result->status == 128 + 2)  // whose user has ended it
      CHECK(world.said_anywhere("Interrupt", Tone::info));
    else if (world.result->status != 0)
      CHECK(world.said_anywhere("", Tone::error));
    if (faults == 0 && world.result->status == 0) CHECK_FALSE(world.said_anywhere("", Tone::error));
  }
  CHECK(signatures > worlds);
  for (const int status : {0, 1, 125, 130, 137, 139}) {  // all of that did happen
    CAPTURE(status, ends[status]);
    CHECK(ends[status] >= static_cast<int>(rounds(2, 5)));
  }
}

}  // namespace charmtree::node_chaos_test
