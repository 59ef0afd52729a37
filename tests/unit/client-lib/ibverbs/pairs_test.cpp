// SPDX-License-Identifier: Apache-2.0
#include "client-lib/ibverbs/pairs.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "client-lib/ibverbs/chooser.hpp"
#include "tree/base/overloaded.hpp"
#include "tree/base/random.hpp"

namespace charmtree::pairs_test {

using namespace charmtree::ibverbs;

namespace {

/// The device of a process, whose queue pairs say what they were connected with.
struct Fake final : Maker {
  explicit Fake(std::uint32_t owner) : process(owner) {}
  Outcome make(std::uint32_t rank, Peer& own) override {
    if (is_exhausted) return Failure{CT_EVERBS, "no queue pair is left"};
    Port port;
    port.lid = static_cast<std::uint16_t>(process + 1);
    port.mtu = 1024;
    own = made[rank] = {port, process * 1000 + ++last, process * 7 + rank};
    return {};
  }
  Outcome connect(std::uint32_t rank, const Peer& own, const Peer& other) override {
    CHECK(own.number == made.at(rank).number);
    CHECK_FALSE(connected.contains(rank));
    if (refuses) return Failure{CT_EVERBS, "its MTU is to be another one"};
    connected[rank] = other;
    return {};
  }
  void release(std::uint32_t rank) override {
    CHECK_FALSE(connected.contains(rank));
    CHECK(made.erase(rank) == 1);
  }

  std::uint32_t process, last = 0;
  bool is_exhausted = false, refuses = false;
  std::map<std::uint32_t, Peer> made, connected;
};

/// Processes, and what is under way between them: any of it may come next.
struct World {
  explicit World(std::uint32_t count, std::uint64_t seed = 0) : dice(seed) {
    for (std::uint32_t process = 0; process < count; ++process) {
      makers.push_back(std::make_unique<Fake>(process));
      all.emplace_back("job ", *makers.back());
    }
  }
  struct Message {
    std::uint32_t from = 0, to = 0;
    bool is_answer = false;
    std::string key, value;
  };

  Pairs::State state(std::uint32_t process, std::uint32_t other) { return all[process].state(other); }
  void reach(std::uint32_t process, std::uint32_t other) {
    Pairs::Actions actions;
    all[process].reach(other, actions);
    send(process, std::move(actions));
  }
  void send(std::uint32_t process, Pairs::Actions actions) {
    const Overloaded say{
        [&](Pairs::Ask& ask) {
          CHECK(ask.key.size() <= CT_MAX_KEY);
          CHECK(waiting.emplace(process, ask.rank, ask.key).second);  // once
          under_way.push_back({process, ask.rank, false, ask.key, {}});
          ++asks;
        },
        [&](Pairs::Answer& answer) {
          under_way.push_back({process, answer.rank, true, answer.key, std::move(answer.value)});
          ++answers;
        },
    };
    for (Pairs::Action& action : actions) std::visit(say, action);
  }
  /// Some asks come twice, and some answers are lost with a launcher: these are asked again.
  void deliver_any(bool is_lossy) {
    const auto any = under_way.begin() + static_cast<std::ptrdiff_t>(dice.below(under_way.size()));
    const Message message = *any;
    under_way.erase(any);
    Pairs::Actions actions;
    if (!message.is_answer) {
      if (is_lossy && dice.below(4) == 0) under_way.push_back(message);
      all[message.to].asked(message.from, message.key, actions);
    } else if (is_lossy && dice.below(4) == 0 && waiting.contains({message.to, message.from, message.key})) {
      under_way.push_back({message.to, message.from, false, message.key, {}});
    } else if (waiting.erase({message.to, message.from, message.key}) > 0) {
      all[message.to].told(message.from, message.value, actions);
    }
    send(message.to, std::move(actions));
  }
  void deliver_all(bool is_lossy = false) {
    while (!under_way.empty()) deliver_any(is_lossy);
  }

  Random dice;
  std::vector<std::unique_ptr<Fake>> makers;
  std::vector<Pairs> all;
  std::vector<Message> under_way;
  std::set<std::tuple<std::uint32_t, std::uint32_t, std::string>> waiting;  // who, for whom, for what
  std::size_t asks = 0, answers = 0;
};

bool are_each_others(World& world, std::uint32_t a, std::uint32_t b) {
  const Peer &of_a = world.makers[a]->made.at(b), &of_b = world.makers[b]->made.at(a);
  const Peer &at_a = world.makers[a]->connected.at(b), &at_b = world.makers[b]->connected.at(a);
  return at_a.number == of_b.number && at_b.number == of_a.number && at_a.psn == of_b.psn &&
         at_b.psn == of_a.psn && at_a.port == of_b.port && at_b.port == of_a.port;
}

using State = Pairs::State;

}  // namespace

TEST_CASE("a queue pair is made when it is used first, by one message there and one back", "[ibverbs]") {
  World world{3};
  CHECK(world.state(0, 1) == State::none);
  world.reach(0, 1);
  world.reach(0, 1);
  CHECK(world.state(0, 1) == State::under_way);
  CHECK_FALSE(world.all[0].is_connected(1));
  world.deliver_all();
  CHECK(world.state(0, 1) == State::ready);
  CHECK(are_each_others(world, 0, 1));
  CHECK((world.asks == 1 && world.answers == 1));
  CHECK(world.makers[2]->made.empty());
}

TEST_CASE("who was reached can receive, and asks whether it may send", "[ibverbs]") {
  World world{2};
  world.reach(0, 1);
  world.deliver_any(false);
  CHECK((world.all[1].is_connected(0) && world.state(1, 0) == State::under_way));
  CHECK_FALSE(world.all[0].is_connected(1));
  world.reach(1, 0);
  world.reach(1, 0);
  const bool is_early = GENERATE(true, false);  // it is asked before it has heard that it is connected
  if (is_early) std::swap(world.under_way.front(), world.under_way.back());
  while (!world.under_way.empty()) {
    const World::Message next = world.under_way.front();
    world.under_way.erase(world.under_way.begin());
    Pairs::Actions actions;
    if (next.is_answer)
      world.all[next.to].told(next.from, next.value, actions);
    else
      world.all[next.to].asked(next.from, next.key, actions);
    world.send(next.to, std::move(actions));
  }
  CHECK((world.state(0, 1) == State::ready && world.state(1, 0) == State::ready));
  CHECK((world.asks == 2 && world.answers == 2));
  CHECK(are_each_others(world, 0, 1));
}

TEST_CASE("two that begin at once have one queue pair each", "[ibverbs]") {
  World world{2, GENERATE(range<std::uint64_t>(0, 20))};
  world.reach(0, 1);
  world.reach(1, 0);
  world.deliver_all();
  CHECK((world.state(0, 1) == State::ready && world.state(1, 0) == State::ready));
  CHECK(are_each_others(world, 0, 1));
  CHECK((world.makers[0]->last == 1 && world.makers[1]->last == 1));
}

TEST_CASE("many reach many in any order, whatever comes twice or is lost", "[ibverbs]") {
  const std::uint64_t seed = GENERATE(range(0, 200));
  Random random{seed};
  const auto count = static_cast<std::uint32_t>(2 + random.below(6));
  World world{count, seed};
  std::set<std::pair<std::uint32_t, std::uint32_t>> wanted;
  for (int steps = 60; steps > 0; --steps) {
    const auto who = static_cast<std::uint32_t>(random.below(count));
    const auto whom = static_cast<std::uint32_t>(random.below(count));
    if (who != whom && random.below(2) == 0) {
      wanted.emplace(who, whom);
      world.reach(who, whom);
    } else if (!world.under_way.empty()) {
      world.deliver_any(true);
    }
  }
  while (!world.under_way.empty()) {
    world.deliver_all(true);
    for (const auto& [who, whom] : wanted) world.reach(who, whom);  // those that were connected meanwhile
  }
  for (const auto& [who, whom] : wanted) {
    CHECK(world.state(who, whom) == State::ready);
    CHECK(are_each_others(world, who, whom));
  }
  for (std::uint32_t process = 0; process < count; ++process) {
    CHECK(world.makers[process]->made.size() == world.makers[process]->last);
    for (const auto& [other, peer] : world.makers[process]->made)
      CHECK((wanted.contains({process, other}) || wanted.contains({other, process})));
  }
}

TEST_CASE("who cannot be connected says why, and both have none", "[ibverbs]") {
  World world{2};
  const bool makes = GENERATE(true, false);
  (makes ? world.makers[1]->refuses : world.makers[1]->is_exhausted) = true;
  world.reach(0, 1);
  if (makes) world.reach(1, 0);  // both begin
  world.deliver_all();
  REQUIRE(world.state(0, 1) == State::failed);
  CHECK(world.all[0].why(1).code == CT_EFAILED);
  CHECK(world.all[0].why(1).what ==
        (makes ? "rank 1 says: its MTU is to be another one" : "rank 1 says: no queue pair is left"));
  REQUIRE(world.state(1, 0) == State::failed);
  CHECK(world.all[1].why(0).code == CT_EVERBS);
  world.reach(1, 0);
  world.deliver_all();
  CHECK(world.makers[1]->made.empty());
}

TEST_CASE("what makes no sense is answered with that, and connects nothing", "[ibverbs]") {
  World world{2};
  const auto answer_to = [&](const std::string& key) {
    Pairs::Actions actions;
    world.all[1].asked(0, key, actions);
    REQUIRE(actions.size() == 1);
    return decode_reply(get<Pairs::Answer>(actions.front()).value).value();
  };
  for (const std::string key :
       {"job ", "job with ", "job with 0", "job with zz", "job with 00", "else", "job whether"})
    CHECK_FALSE(answer_to(key).peer);
  CHECK(world.state(1, 0) == State::none);
  world.reach(0, 1);
  const std::string key = world.under_way.front().key;
  CHECK_FALSE(answer_to(key + "00").peer);
  CHECK(answer_to(key).peer);
  CHECK(answer_to(key).peer->number == world.makers[1]->made.at(0).number);
  Fake other{0};
  other.last = 7;
  Pairs::Actions actions;
  Pairs{"job ", other}.reach(1, actions);
  CHECK_FALSE(answer_to(get<Pairs::Ask>(actions.front()).key).peer);  // it has another one by now
}

TEST_CASE("an answer that makes no sense, or never comes, is a failure", "[ibverbs]") {
  World world{3};
  Pairs::Actions actions;
  world.reach(0, 1);
  world.all[0].told(1, "garbage", actions);
  CHECK((world.state(0, 1) == State::failed && world.all[0].why(1).code == CT_EPROTO));
  world.reach(0, 2);
  world.all[0].unanswered(2, {CT_EFAILED, "rank 2 is lost"}, actions);
  CHECK((world.state(0, 2) == State::failed && world.all[0].why(2).what == "rank 2 is lost"));
  CHECK((actions.empty() && world.makers[0]->made.empty()));
  world.all[0].told(2, encode(Reply{"late", {}}), actions);
  CHECK(world.all[0].why(2).what == "rank 2 is lost");
}

TEST_CASE("with all at once where all are used and queue pairs suffice, else on demand", "[ibverbs]") {
  CHECK(wants_all({63, 64, 64 * 63, 0}));
  CHECK_FALSE(wants_all({63, 64, 64 * 63 - 1, 0}));
  CHECK(wants_all({63, 1, 63, 32}));
  CHECK_FALSE(wants_all({63, 1, 63, 31}));
  CHECK_FALSE(wants_all({999'999, 128, 1U << 20, 6}));
  CHECK(wants_all({1, 1, 1, 1}));
}

}  // namespace charmtree::pairs_test
