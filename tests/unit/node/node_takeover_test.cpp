// SPDX-License-Identifier: Apache-2.0
// The root of a job that is kept alive is lost, and another one takes its place. Random trees and barriers of
// native programs: the simulator's world takeover.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "tests/unit/one_launcher.hpp"
#include "tests/unit/small_world.hpp"
#include "tree/base/signals.hpp"
#include "tree/overlay/keyed_hash.hpp"

namespace charmtree::node_takeover_test {

using namespace charmtree::proto;
using namespace charmtree::test;

namespace {

constexpr Duration kKeepAlive = 60s;
const Error kLost{Errc::link_lost, Phase::run, "reset"};
constexpr const char* kTakenOver = "this is the root of job 0123456789abcdef from now on";

Plan kept_alive(wire::Shape shape = {}, wire::Recovery on_loss = wire::Recovery::none) {
  return {.hosts = 9, .slots = {2}, .shape = shape, .on_loss = on_loss, .keep_alive = kKeepAlive};
}

/// Plain processes that say something at the beginning and at the end of a minute.
void run_a_minute(SmallWorld& world) {
  for (std::uint32_t i = 0; i < world.actors.size(); ++i) {
    Actor& actor = world.actors[i];
    actor.kind = Actor::Kind::plain;
    actor.life = 60s;
    actor.outlives_launcher = true;
    actor.chunks = {fmt::format("{} begins\n", i), fmt::format("{} ends\n", i)};
  }
}

int times_printed(const SmallWorld& world, const std::string& wanted) {
  const std::string line = "\n" + wanted + "\n", text = "\n" + world.out;
  int times = 0;
  for (std::size_t at = text.find(line); at != std::string::npos; at = text.find(line, at + 1)) ++times;
  return times;
}

/// But for those on these hosts.
void check_all_printed(const SmallWorld& world, const std::vector<std::uint32_t>& lost = {}) {
  for (std::uint32_t i = 0; i < world.actors.size(); ++i) {
    const bool is_lost = std::find(lost.begin(), lost.end(), i / 2) != lost.end();
    CHECK(times_printed(world, fmt::format("{} begins", i)) == 1);
    CHECK(times_printed(world, fmt::format("{} ends", i)) == (is_lost ? 0 : 1));
  }
}

const Say* first_error(const SmallWorld& world) {
  const auto it = std::find_if(world.said.begin(), world.said.end(),
                               [](const Say& say) { return say.tone == Tone::error; });
  return it == world.said.end() ? nullptr : &*it;
}

/// A launcher of such a job, at that level.
struct Orphan : OneLauncher {
  explicit Orphan(std::uint32_t level) : OneLauncher(std::uint64_t{7}) {
    RootPlan plan = make_plan(1);
    plan.job.loss.keep_alive = kKeepAlive;
    on(LinkMessage{kParentLink, wire::Welcome{wire::encode(plan.job), plan.hosts[0], level}});
    on(Prepared{1});
    while (count<Spawn>() == 0) tick();
    on(Spawned{0});
  }
  bool kills() const {
    const auto* signal = first<Signal>();
    return signal != nullptr && signal->signal == signals::kKill;
  }
  void lives_for(Duration time) {
    const Instant until = now + time;
    while (node.next_deadline() < until) {
      tick();
      CHECK_FALSE(kills());
    }
    now = until;
    on(Tick{});
    CHECK(kills());
  }
};

/// A root that takes over a flat tree from one that was lost.
struct NextRoot : OneLauncher {
  explicit NextRoot(const RootPlan& with) : OneLauncher(with, std::uint64_t{7}), plan(with) {
    on(Begin{});
    for (const Action& action : out) {
      if (const auto* login = get_if<Login>(&action)) links.push_back(login->link);
    }
    REQUIRE(links.size() == plan.hosts.size() - plan.takes_over->lost.size());
    for (std::uint32_t host = 0; host < links.size(); ++host) {
      on(LinkUp{links[host], {}, {}, {}});
      CHECK(sent<wire::Adopt>(links[host]) != nullptr);
      on(LinkMessage{links[host], wire::Waiting{host, "theirs"}});
      REQUIRE(sent<wire::Claim>(links[host]) != nullptr);
      claims.push_back(*sent<wire::Claim>(links[host]));
    }
  }
  static RootPlan plan_of_two() {
    RootPlan plan = make_plan(2);
    plan.job.loss.keep_alive = kKeepAlive;
    plan.job.secret = "secret";
    plan.takes_over.emplace().started_by = {{0, wire::kRootIndex}, {1, wire::kRootIndex}};
    return plan;
  }
  void answers(std::uint32_t host, wire::Claimed claimed) {
    const std::string about = fmt::format("claimed {} {} ", plan.job.id, host);
    claimed.proof = keyed_hash(plan.job.secret, about + "theirs" + claims[host].nonce);
    on(LinkMessage{links[host], claimed});
  }

  RootPlan plan;
  std::vector<LinkId> links;
  std::vector<wire::Claim> claims;
};

}  // namespace

TEST_CASE("who has lost the root waits for another as long as the user wants, all others three seconds",
          "[takeover]") {
  const std::uint32_t level = GENERATE(1U, 2U);
  Orphan orphan{level};
  orphan.on(LinkDown{kParentLink, kLost});
  CHECK_FALSE(orphan.kills());
  orphan.lives_for(level == 1 ? kKeepAlive : 3s);
}

TEST_CASE("who is ended by a signal waits for nobody", "[takeover]") {
  Orphan orphan{1};
  orphan.on(LinkDown{kParentLink, {Errc::killed, Phase::run, "killed"}});
  CHECK(orphan.kills());
}

TEST_CASE("a root that takes over finds everybody, in any tree, and nothing is lost", "[takeover]") {
  const wire::Shape shape = GENERATE(wire::Shape{1, 0}, wire::Shape{2, 0}, wire::Shape{0, 0});
  const auto on_loss = GENERATE(wire::Recovery::none, wire::Recovery::go_on);
  SmallWorld world{kept_alive(shape, on_loss)};
  run_a_minute(world);
  world.at(30s, [&] { world.kill_launcher(wire::kRootIndex); });
  world.at(40s, [&] {
    REQUIRE(world.kept);
    CHECK(world.kept->hosts.size() == 9);
    CHECK(world.kept->shape.started_by.size() == 9);
    CHECK(world.kept->shape.lost.empty());
    world.take_over();
  });
  world.run();
  REQUIRE(world.result);
  CHECK(world.result->status == 0);
  CHECK(world.said_anywhere(kTakenOver, Tone::info));
  CHECK(first_error(world) == nullptr);
  check_all_printed(world);
  CHECK(world.alive() == 0);
}

TEST_CASE("the second root may be lost, too, even before it has found everybody", "[takeover]") {
  const Duration lives = GENERATE(30ms, 100ms, 200ms, 300ms, 5s);
  SmallWorld world{kept_alive({2, 0})};
  run_a_minute(world);
  world.at(30s, [&] { world.kill_launcher(wire::kRootIndex); });
  world.at(35s, [&] { world.take_over(); });
  world.at(35s + lives, [&] { world.kill_launcher(wire::kRootIndex); });
  world.at(45s, [&] { world.take_over(); });
  world.run();
  REQUIRE(world.result);
  CHECK(world.result->status == 0);
  check_all_printed(world);
  CHECK(world.alive() == 0);
}

TEST_CASE("all may end while there is no root", "[takeover]") {
  SmallWorld world{kept_alive({2, 0}, GENERATE(wire::Recovery::none, wire::Recovery::go_on))};
  run_a_minute(world);
  const bool failed = GENERATE(false, true);
  if (failed) world.actors[5].code = 3;
  world.at(58s, [&] { world.kill_launcher(wire::kRootIndex); });
  world.at(70s, [&] { world.take_over(); });
  world.run();
  REQUIRE(world.result);
  const bool ends_so = failed && !world.result->why.lost.contains(5);
  CHECK(world.result->status == (ends_so ? 3 : 0));
  check_all_printed(world);
  CHECK(world.alive() == 0);
}

TEST_CASE("where the root's links only fall silent another is waited for as well", "[takeover]") {
  Plan plan = kept_alive({2, 0});
  plan.heartbeat = {250ms, 1s, 8s};
  SmallWorld world{plan};
  run_a_minute(world);
  world.at(20s, [&] { world.silence_root(); });
  const bool comes = GENERATE(true, false);
  if (comes) world.at(50s, [&] { world.take_over(); });
  world.run();
  CHECK(world.result.has_value() == comes);
  if (comes) {
    CHECK(world.result->status == 0);
    check_all_printed(world);
  }
  CHECK(world.last_exit_at < (comes ? 65s : 20s + kKeepAlive + 20s));
  CHECK(world.alive() == 1);  // the one that is not heard
}

TEST_CASE("without another root all end when the time is over, and one that comes then says so",
          "[takeover]") {
  SmallWorld world{kept_alive({2, 0})};
  run_a_minute(world);
  for (Actor& actor : world.actors) actor.life = 600s;
  world.at(30s, [&] { world.kill_launcher(wire::kRootIndex); });
  world.run(30s + kKeepAlive - 1s);
  CHECK(world.alive() == 9 + 18);
  world.run(30s + kKeepAlive + 5s);
  CHECK(world.alive() == 0);
  world.take_over();
  world.run();
  REQUIRE(world.result);
  CHECK(world.result->status == 125);
  REQUIRE(first_error(world) != nullptr);
  CHECK(first_error(world)->text.find("no launcher of the job waits for another root") != std::string::npos);
  CHECK(std::count_if(world.said.begin(), world.said.end(),
                      [](const Say& say) { return say.tone == Tone::error; }) == 1);
}

TEST_CASE("a launcher that was lost while there was no root is found out by the next", "[takeover]") {
  const bool by_root = GENERATE(true, false);  // it was started
  const auto on_loss = GENERATE(wire::Recovery::none, wire::Recovery::go_on);
  SmallWorld world{kept_alive({2, 0}, on_loss)};
  run_a_minute(world);
  std::vector<std::uint32_t> lost;
  world.at(30s, [&] { world.kill_launcher(wire::kRootIndex); });
  world.at(32s, [&] {
    const auto below = [&](std::uint32_t host) {
      std::vector<std::uint32_t> hosts;
      for (const wire::StartedBy& told : world.kept->shape.started_by) {
        if (told.by != host) continue;
        hosts.push_back(told.host);
        for (const wire::StartedBy& next : world.kept->shape.started_by) {
          if (next.by == told.host) hosts.push_back(next.host);
        }
      }
      return hosts;
    };
    for (const wire::StartedBy& told : world.kept->shape.started_by) {
      if ((told.by == wire::kRootIndex) == by_root && !below(told.host).empty()) lost = {told.host};
    }
    REQUIRE_FALSE(lost.empty());
    world.kill_launcher(lost.front());
    if (!by_root) return;  // whoever has started it looks for those below it
    const std::vector<std::uint32_t> more = below(lost.front());
    lost.insert(lost.end(), more.begin(), more.end());
  });
  world.at(45s, [&] { world.take_over(); });
  world.run();
  REQUIRE(world.result);
  REQUIRE(first_error(world) != nullptr);
  CHECK(first_error(world)->text.starts_with(fmt::format("n{:02}: run: ", lost.front())));
  if (on_loss == wire::Recovery::go_on) {
    CHECK(world.result->status == 0);
    CHECK(world.result->why.lost.size() == 2 * lost.size());
    check_all_printed(world, lost);
  } else {
    CHECK(world.result->status == 125);
    CHECK(world.last_exit_at < 65s);
  }
  CHECK(world.alive() == 0);
}

TEST_CASE("a root that lives while another takes over ends, and leaves the job alone", "[takeover]") {
  SmallWorld world{kept_alive({2, 0})};
  run_a_minute(world);
  world.at(30s, [&] { world.take_over(); });
  world.run();
  REQUIRE(world.former.size() == 1);
  CHECK(world.former[0].status == 125);
  CHECK(world.said_anywhere("another root has taken over the job (++attach)", Tone::error));
  CHECK_FALSE(world.said_anywhere("did not confirm"));
  REQUIRE(world.result);
  CHECK(world.result->status == 0);
  check_all_printed(world);
  CHECK(world.alive() == 0);
}

TEST_CASE("a user who gives up while his root takes over is obeyed at once", "[takeover]") {
  SmallWorld world{kept_alive({2, 0})};
  run_a_minute(world);
  world.at(30s, [&] { world.kill_launcher(wire::kRootIndex); });
  world.at(35s, [&] {
    world.login = [](const Try&) { return Outcome{{}, kForever, {}, {}}; };
    world.take_over();
  });
  world.at(36s, [&] { world.user_signal(signals::kInterrupt); });
  world.run();
  REQUIRE(world.result);
  CHECK(world.result->status == 128 + signals::kInterrupt);
  CHECK(world.result_at < 45s);
}

TEST_CASE("a host that is not reached is tried again, as long as there is time for those below it",
          "[takeover]") {
  const auto [code, lasts, is_found] = GENERATE(table<Errc, Duration, bool>({
      {Errc::unreachable, 1s, true},
      {Errc::unreachable, 10s, true},
      {Errc::timed_out, 10s, true},
      {Errc::no_such_host, 10s, true},
      {Errc::unreachable, kForever, false},
      {Errc::refused, 1s, false},
      {Errc::not_authorised, 1s, false},
  }));
  const bool is_reached = code == Errc::refused || code == Errc::not_authorised;
  const bool is_alone = GENERATE(true, false);  // or nobody is reached
  SmallWorld world{kept_alive({2, 0})};
  run_a_minute(world);
  std::vector<Duration> tries;
  world.at(30s, [&] { world.kill_launcher(wire::kRootIndex); });
  world.at(35s, [&, code = code, lasts = lasts] {
    const std::vector<wire::StartedBy>& all = world.kept->shape.started_by;
    const auto told = std::find_if(all.begin(), all.end(),
                                   [](const wire::StartedBy& each) { return each.by == wire::kRootIndex; });
    REQUIRE(told != all.end());
    world.login = [&tries, code, lasts, is_alone, victim = told->host](const Try& login) {
      const bool is_cut = login.host == victim || !is_alone;
      if (login.host == victim) tries.push_back(login.at - 35s);
      return is_cut && login.at - 35s < lasts
                 ? Outcome{Error{code, Phase::connect, "not now", {}}, 10ms, {}, {}}
                 : Outcome{};
    };
    world.take_over();
  });
  world.run();
  REQUIRE(world.result);
  CHECK(world.result->status == (is_found ? 0 : 125));
  if (is_found) check_all_printed(world);
  CHECK(tries.size() <= 12);
  CHECK((tries.size() > 1) == !is_reached);
  CHECK(tries.back() <= 13s);
  CHECK(world.result_at < (is_found ? 65s : 35s + 16s + 5s));
}

TEST_CASE("Charm++ processes pass every barrier, whenever the root is lost", "[takeover]") {
  Plan plan = kept_alive({2, 0});
  plan.hosts = 5;
  const auto prepare = [](SmallWorld& world) {
    for (Actor& actor : world.actors) actor.lines = 3;
  };
  Duration begun = kForever, ended{0};
  {
    SmallWorld world{plan};
    prepare(world);
    world.run();
    REQUIRE(world.result);
    for (const Sent& each : world.sent) {
      if (holds_alternative<wire::Release>(each.message)) begun = std::min(begun, each.at);
    }
    ended = world.result_at;
  }
  REQUIRE(begun < ended);
  for (Duration lost = begun; lost < ended; lost += 1ms) {
    CAPTURE(lost.count());
    SmallWorld world{plan};
    prepare(world);
    bool ends = false;  // everybody has been told so
    world.at(lost, [&] {
      ends = std::any_of(world.sent.begin(), world.sent.end(),
                         [](const Sent& each) { return holds_alternative<wire::End>(each.message); });
      world.kill_launcher(wire::kRootIndex);
    });
    world.at(lost + 1s, [&] { world.take_over(); });
    world.run();
    REQUIRE(world.result);
    CHECK(world.result->status == (ends ? 125 : 0));
    for (std::uint32_t process = 0; process < world.actors.size(); ++process) {
      CHECK(world.actors[process].entered == 9);
      for (int line = 0; line < 3; ++line)
        CHECK(times_printed(world, fmt::format("process {} line {}", process, line)) >= 1);
    }
    CHECK(world.alive() == 0);
  }
}

TEST_CASE("what some had heard of the root that was lost, the next tells the others", "[takeover]") {
  RootPlan plan = NextRoot::plan_of_two();
  plan.job.loss.recovery = wire::Recovery::go_on;
  NextRoot root{plan};
  CHECK(root.claims[0].level == 0);
  root.answers(0, {{}, 4, {{1, 1}}, {7, 0, 2}, true});
  CHECK(root.count<Send>() == 0);  // not before all have been heard
  root.answers(1, {{}, 3, {}, {6, 0, 2}, true});
  CHECK(root.sent<wire::Release>(root.links[0]) == nullptr);
  REQUIRE(root.sent<wire::Release>(root.links[1]) != nullptr);
  CHECK(root.sent<wire::Release>(root.links[1])->kind == 0);
  std::vector<wire::Lost> told;
  for (const Action& action : root.out) {
    const auto* send = get_if<Send>(&action);
    if (send == nullptr || send->link != root.links[1]) continue;
    if (const auto* lost = get_if<wire::Lost>(&send->message)) told.push_back(*lost);
  }
  REQUIRE(told.size() == 2);
  CHECK(told[0].processes == std::vector<wire::ProcessSet::Range>{{1, 1}});
  CHECK(told[1].epoch == 5);
  CHECK(told[1].processes.empty());
  REQUIRE(root.sent<wire::Lost>(root.links[0]) != nullptr);
  CHECK(root.sent<wire::Lost>(root.links[0])->epoch == 5);
  CHECK(root.count<KeepTree>() == 1);
}

TEST_CASE("a loss of which the root that was lost has told nobody is told by the next", "[takeover]") {
  const bool was_told = GENERATE(false, true);
  RootPlan plan = make_plan(3);
  plan.job.loss.recovery = wire::Recovery::go_on;
  plan.job.loss.keep_alive = kKeepAlive;
  plan.job.secret = "secret";
  TreeShape& shape = plan.takes_over.emplace();
  for (std::uint32_t host = 0; host < 3; ++host) shape.started_by.push_back({host, wire::kRootIndex});
  shape.lost.add({2, 2});
  NextRoot root{plan};
  wire::Claimed knows{{}, 1, {}, {}, false};
  if (was_told) knows.lost = {{2, 2}};
  root.answers(0, knows);
  root.answers(1, knows);
  std::vector<wire::ProcessSet::Range> told;
  for (const Action& action : root.out) {
    const auto* send = get_if<Send>(&action);
    const auto* lost = send != nullptr ? get_if<wire::Lost>(&send->message) : nullptr;
    if (lost != nullptr) told.insert(told.end(), lost->processes.begin(), lost->processes.end());
  }
  CHECK(told.size() == (was_told ? 0 : 2));
  CHECK(std::any_of(root.out.begin(), root.out.end(), [](const Action& action) {
          const auto* say = get_if<Say>(&action);
          return say != nullptr && say->tone == Tone::error && say->text.starts_with("h2: run: ");
        }) == !was_told);
}

TEST_CASE("who does not answer is waited for a quarter of a minute", "[takeover]") {
  NextRoot root{NextRoot::plan_of_two()};
  const Instant begun = root.now;
  root.answers(0, {{}, 0, {}, {1, 0, 0}, true});
  CHECK(root.node.next_deadline() == begun + 15s);
  root.now = begun + 15s;
  root.on(Tick{});
  REQUIRE(root.first<Say>() != nullptr);
  CHECK(root.sent<wire::End>(root.links[0]) != nullptr);
  CHECK(std::any_of(root.out.begin(), root.out.end(), [](const Action& action) {
    const auto* say = get_if<Say>(&action);
    return say != nullptr && say->tone == Tone::error && say->text.starts_with("h1: run: ");
  }));
}

}  // namespace charmtree::node_takeover_test
