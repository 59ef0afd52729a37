// SPDX-License-Identifier: Apache-2.0
#include "kvs/fence/component.hpp"

#include <fmt/format.h>

#include "kvs/fence/given.hpp"
#include "tests/unit/part_bench.hpp"

namespace charmtree::fence_test {

using namespace charmtree::kvs;
using namespace charmtree::proto;
using Role = test::PartBench::Role;

namespace {

/// A launcher with two children, of one process each: 4 and 5 of 6.
struct Bench : test::PartBench {
  explicit Bench(Role where, bool repairs = false) : PartBench(where) {
    if (repairs) job.loss.recovery = wire::Recovery::go_on;
    self.processes = 0;
  }
  wire::Fence fence(std::uint32_t number = 1) const { return {2, {{4, 5}}, number}; }
  void enter(LinkId link, std::string given, std::uint32_t number = 1, std::uint32_t processes = 1) {
    part.up(link, {fence(number), progress.epoch, processes, std::move(given)}, *this);
    part.turn(*this);
  }
  std::vector<FenceUp> up() {
    std::vector<FenceUp> all;
    for (const wire::Message& each : std::exchange(handed_up, {})) all.push_back(get<FenceUp>(each));
    return all;
  }
  static FenceDown unpacked(FenceDown down) {
    if (down.failure.empty())
      down.given = std::make_shared<const std::string>(unpack_given(*down.given, 1U << 20).value());
    return down;
  }
  /// Each piece once, though it goes to several children.
  std::vector<FenceDown> pieces_down() {
    std::vector<FenceDown> all;
    for (const auto& [link, message] : std::exchange(handed_down, {})) {
      const auto& piece = get<FenceDown>(message);
      const bool is_new = all.empty() || all.back().fence != piece.fence || all.back().offset != piece.offset;
      if (is_new) all.push_back(piece);
    }
    return all;
  }
  std::vector<FenceDown> down() {
    std::vector<FenceDown> all = pieces_down();
    for (FenceDown& each : all) each = unpacked(std::move(each));
    return all;
  }

  std::vector<std::pair<LinkId, FenceDown>> answers() {
    std::vector<std::pair<LinkId, FenceDown>> all;
    for (const auto& [link, message] : std::exchange(handed_down, {}))
      all.emplace_back(link, unpacked(get<FenceDown>(message)));
    return all;
  }

  FenceComponent part;
  LinkId first = child(), second = child();
};

}  // namespace

TEST_CASE("one message goes up when all below are in", "[fences]") {
  Bench b{Role::below};
  b.enter(b.first, "a");
  CHECK(b.up().empty());
  b.enter(b.second, "b");
  const auto up = b.up();
  REQUIRE(up.size() == 1);
  CHECK(up[0].processes == 2);
  CHECK(up[0].given == "ab");
  b.part.turn(b);
  CHECK(b.up().empty());
  CHECK(b.given_up.empty());
}

TEST_CASE("the root ends a fence when all are in, for everybody", "[fences]") {
  Bench b{Role::root};
  b.enter(b.second, "b");
  CHECK(b.down().empty());
  b.enter(b.first, "a");
  const auto down = b.down();
  REQUIRE(down.size() == 1);
  CHECK(*down[0].given == "ba");
  CHECK(down[0].failure.empty());
  b.enter(b.first, "c", 2);
  CHECK(b.down().empty());
}

TEST_CASE("a fence goes on when the host that it waited for is another launcher's", "[fences]") {
  Bench b{Role::below};
  b.part.turn(b);
  b.enter(b.first, "a");
  CHECK(b.up().empty());
  b.launch.subtree().remove(1);
  b.part.turn(b);
  const auto up = b.up();
  REQUIRE(up.size() == 1);
  CHECK((up[0].processes == 1 && up[0].given == "a"));
  b.part.turn(b);
  CHECK(b.up().empty());
}

TEST_CASE("what a fence took is recorded where somebody wants to know", "[fences]") {
  for (const bool wanted : {true, false}) {
    Bench b{Role::root};
    b.job.reports.stamps = wanted;
    const Instant begun = b.now();
    b.part.up(b.first, {b.fence(), 0, 1, "ab", 3}, b);
    b.part.turn(b);
    b.at(begun + 5ms);
    b.part.up(b.second, {b.fence(), 0, 1, "c", 70000}, b);
    b.part.turn(b);
    const auto over = b.take<FenceOver>();
    REQUIRE(over.size() == (wanted ? 1 : 0));
    if (!wanted) continue;
    CHECK((over[0].fence == b.fence() && over[0].requests == 70003 && over[0].bytes == 3));
    CHECK((over[0].begun == begun && over[0].over == begun + 5ms));
  }
}

TEST_CASE("what is given is packed if that is worth it, and unpacked as it was", "[fences]") {
  std::string much;
  for (int i = 0; i < 20000; ++i) much += fmt::format("tcp://10.0.{}.{}:4242;", i / 250, i % 250);
  const std::string packed = pack_given(much);
  CHECK(packed.size() < much.size() / 4);
  CHECK(unpack_given(packed, much.size()) == much);
  CHECK_FALSE(unpack_given(packed, much.size() - 1));
  CHECK_FALSE(unpack_given(packed.substr(0, packed.size() / 2), much.size()));
  CHECK_FALSE(unpack_given("", 9));
  for (const std::string& little : {std::string{}, std::string{"a"}, std::string(1000, 'b')}) {
    CHECK(unpack_given(pack_given(little), 1000) == little);
    CHECK(pack_given(little).size() == little.size() + 1);
  }
}

TEST_CASE("what is too large for one message goes in pieces, up and down", "[fences]") {
  Random random{7};
  std::string much;
  while (much.size() < FenceComponent::kMostPiece * 5 / 2) much += std::to_string(random.next());
  Bench below{Bench::Role::below}, root{Bench::Role::root};
  below.job.processes = root.job.processes = 1000;  // who may give so much
  for (Bench* each : {&below, &root}) {
    each->part.on({each->fence(), 0, much}, *each);
    each->enter(each->first, "a");
    each->enter(each->second, "b");
  }
  std::string all;
  std::uint32_t entered = 0;
  const auto up = below.up();
  CHECK(up.size() == 3);
  for (const FenceUp& each : up) {
    CHECK(each.given.size() <= FenceComponent::kMostPiece);
    all += each.given;
    entered += each.processes;
  }
  CHECK((all == much + "ab" && entered == 2 && up.back().processes == 2));

  const auto pieces = root.pieces_down();
  REQUIRE(pieces.size() == 2);  // packed
  const auto down = [&](std::size_t which) { return below.part.receive(pieces[which], below); };
  CHECK(down(0).empty());
  CHECK(down(0).empty());  // from another parent, which begins anew
  const auto both = down(1);
  REQUIRE(both.size() == 2);
  const FenceDone whole = whole_fence(both, much.size() + 2);
  CHECK((whole.failure.empty() && *whole.given == much + "ab"));
  CHECK_FALSE(whole_fence(both, much.size()).failure.empty());
  CHECK(down(1).empty());  // of which the beginning is missing
}

TEST_CASE("what comes down and cannot be unpacked fails", "[fences]") {
  Bench b{Bench::Role::below};
  b.part.down({b.fence(), {}, std::make_shared<const std::string>("\x7f nonsense")}, b);
  REQUIRE(b.news.size() == 1);
  CHECK(get<FenceDone>(b.news[0]).failure == "what its hosts have given cannot be unpacked");
}

TEST_CASE("requests are summed up on the way", "[fences]") {
  Bench b{Role::below};
  b.part.up(b.first, {b.fence(), 0, 1, "a", 3}, b);
  b.part.up(b.second, {b.fence(), 0, 1, "b", 4}, b);
  b.part.turn(b);
  CHECK(b.up().at(0).requests == 7);
}

TEST_CASE("the end of a fence goes only where its processes are", "[fences]") {
  const auto links = [](Bench& b) {
    std::vector<LinkId> all;
    for (const auto& [link, message] : b.answers()) all.push_back(link);
    return all;
  };
  Bench b{Role::below};
  const auto end = [&](std::vector<wire::ProcessSet::Range> processes) {
    b.part.down({{2, std::move(processes), 1}, "", std::make_shared<const std::string>(pack_given("x"))}, b);
    return links(b);
  };
  CHECK(end({{5, 5}}) == std::vector{b.second});
  CHECK(end({{3, 5}}) == std::vector{b.first, b.second});
  CHECK(end({{0, 1}}).empty());
  CHECK(b.handed_to_all.empty());
  CHECK(end({{0, b.job.processes - 1}}).empty());
  CHECK(b.handed_to_all.size() == 1);

  Bench root{Role::root};
  root.part.up(root.second, {{2, {{5, 5}}, 1}, 0, 1, "x"}, root);
  root.part.turn(root);
  CHECK(links(root) == std::vector{root.second});
}

TEST_CASE("fences of one group may be in flight together, and those of others", "[fences]") {
  Bench b{Role::root};
  b.enter(b.first, "1", 1);
  b.enter(b.first, "2", 2);
  b.enter(b.second, "2", 2);
  REQUIRE(b.down().at(0).fence.number == 2);
  b.enter(b.second, "1", 1);
  CHECK(b.down().at(0).fence.number == 1);
  b.part.up(b.first, {{2, {{4, 4}}, 1}, 0, 1, "x"}, b);
  b.part.turn(b);
  CHECK(*b.down().at(0).given == "x");
}

TEST_CASE("a child that speaks for more than it has is given up", "[fences]") {
  Bench b{Role::below};
  SECTION("at once") {
    b.enter(b.first, "a", 1, 2);
  }
  SECTION("one after the other") {
    b.enter(b.first, "a");
    b.enter(b.first, "a");
  }
  SECTION("for nobody") {
    b.enter(b.first, "", 1, 0);
  }
  SECTION("for nobody, of a group of which it has none") {
    b.part.up(b.first, {{2, {{5, 5}}, 1}, 0, 0, "a"}, b);
  }
  SECTION("of a group that the job has not got") {
    b.part.up(b.first, {{2, {{4, 6}}, 1}, 0, 1, {}}, b);
  }
  SECTION("of a group of which it has none") {
    b.part.up(b.first, {{2, {{5, 5}}, 1}, 0, 1, {}}, b);
  }
  SECTION("in more fences than there can be") {
    for (std::uint32_t number = 1; number <= wire::kMostFencesAtOnce; ++number) b.enter(b.first, "", number);
    CHECK(b.given_up.empty());
    b.enter(b.first, "", wire::kMostFencesAtOnce + 1);
  }
  SECTION("with more than a process may give") {
    b.enter(b.first, std::string(FenceComponent::kMostGivenAtOnce * wire::kMostGiven, 'x'));
    CHECK(b.given_up.empty());
    b.enter(b.first, "y", 2);
  }
  REQUIRE(b.given_up.size() == 1);
  CHECK(b.given_up[0].first == b.first);
}

TEST_CASE("in a new epoch all is counted anew, and what is of another one is not heard", "[fences]") {
  Bench b{Role::below, true};
  b.enter(b.first, "a");
  ++b.progress.epoch;
  b.part.up(b.second, {b.fence(), 0, 1, "old"}, b);
  b.part.turn(b);
  CHECK(b.up().empty());
  b.enter(b.second, "b");
  b.enter(b.first, "a");
  const auto up = b.up();
  REQUIRE(up.size() == 1);
  CHECK(up[0].epoch == 1);
  CHECK(up[0].given == "ba");
}

TEST_CASE("who still waits in a fence that is over hears so again, and nobody else", "[fences]") {
  Bench b{Role::root, true};
  b.enter(b.first, "a");
  b.enter(b.second, "b");
  CHECK(b.down().size() == 1);
  ++b.progress.epoch;
  b.enter(b.first, "a");
  CHECK(b.handed_to_all.empty());
  const auto answers = b.answers();
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].first == b.first);
  CHECK(*answers[0].second.given == "ab");
}

TEST_CASE("a launcher that has heard of the end of a fence says it to a child that has not", "[fences]") {
  Bench b{Role::below, true};
  if (GENERATE(false, true)) b.job.loss.keep_alive = 60s;
  b.part.down({b.fence(), {}, std::make_shared<const std::string>(pack_given("ab"))}, b);
  ++b.progress.epoch;
  b.enter(b.first, "a");
  CHECK(*b.answers().at(0).second.given == "ab");
  b.enter(b.second, "b");
  CHECK(b.up().size() == (b.job.keeps_alive() ? 1 : 0));
}

TEST_CASE("a fence with a lost process fails for each who enters it", "[fences]") {
  SECTION("at the root") {
    Bench b{Role::root, true};
    b.enter(b.first, "a");
    b.progress.lost.add(5);
    ++b.progress.epoch;
    for (const std::uint32_t number : {1U, 2U, 1U}) {
      b.enter(b.first, "a", number);
      const auto answers = b.answers();
      REQUIRE(answers.size() == 1);
      CHECK(answers[0].second.fence.number == number);
      CHECK(answers[0].second.failure == "process 5 is lost");
    }
    CHECK(b.down().empty());
  }
  SECTION("elsewhere it goes up at once, for the root to say so") {
    Bench b{Role::below, true};
    b.progress.lost.add(5);
    b.enter(b.first, "a");
    CHECK(b.up().size() == 1);
  }
  SECTION("who waits in one before it goes on waiting") {
    Bench b{Role::below, true};
    b.enter(b.first, "a");
    b.part.down({b.fence(2), "process 5 is lost", std::make_shared<const std::string>()}, b);
    b.enter(b.second, "b");
    CHECK(b.up().size() == 1);
  }
}

TEST_CASE("what is over below is forgotten, and a launcher without a parent waits for one", "[fences]") {
  Bench b{Role::below, true};
  b.way = WayUp::awaited;
  b.enter(b.first, "a");
  b.enter(b.second, "b");
  CHECK(b.up().empty());
  b.part.down({b.fence(), {}, std::make_shared<const std::string>(pack_given(""))}, b);
  b.way = WayUp::open;
  ++b.progress.epoch;
  b.part.turn(b);
  CHECK(b.up().empty());
}

TEST_CASE("another root is told again of the fence that a host came out of last, and of the one it is in",
          "[fences]") {
  const auto again = [](bool keeps_alive) {
    Bench b{Role::below, true};
    if (keeps_alive) b.job.loss.keep_alive = 60s;
    const auto own = [&](std::uint32_t number) {
      return FenceEntered{{2, {{4, 4}}, number}, 1, std::to_string(number)};
    };
    b.part.on(own(1), b);
    b.part.down({own(1).fence, {}, std::make_shared<const std::string>(pack_given(""))}, b);
    b.part.on(own(2), b);
    std::string given;
    for (int epoch = 1; epoch <= 2; ++epoch) {  // the second root may be lost, too
      ++b.progress.epoch;
      b.part.turn(b);
      for (const FenceUp& each : b.up()) given += each.given + ";";
    }
    return given;
  };
  CHECK(again(true) == "1;2;1;2;");
  CHECK(again(false) == "2;2;");
}

TEST_CASE("fences whose names never come again are kept in bounds, each child has its share", "[fences]") {
  Bench b{Role::root, true};
  const auto enter = [&](LinkId link, std::uint32_t process, int name) {
    b.part.up(link, {{2, {{process, process}}, 1, fmt::format("tag {}", name)}, 0, 1, "x"}, b);
    b.part.turn(b);
  };
  enter(b.second, 5, -1);
  for (int name = 0; name < 5000; ++name) enter(b.first, 4, name);
  CHECK(b.part.kept() == wire::kMostFencesAtOnce + 1);
  b.down();
  enter(b.first, 4, 4999 - 63);  // the oldest that the process may still be in
  enter(b.second, 5, -1);
  CHECK(b.handed_to_all.empty());
  CHECK(b.answers().size() == 2);
  for (int name = 0; name < 1000; ++name) {
    for (const LinkId link : {b.first, b.second})
      b.part.up(link, {{2, {{4, 5}}, 1, fmt::format("both {}", name)}, 0, 1, "x"}, b);
    b.part.turn(b);
  }
  CHECK(b.down().size() == 1000);
  CHECK(b.part.kept() == wire::kMostFencesAtOnce + 1 + 2 * wire::kMostFencesAtOnce);
  CHECK(b.given_up.empty());
}

TEST_CASE("what is kept of fences has a limit in bytes, too", "[fences]") {
  Bench b{Role::root, true};
  Random random{3};
  for (int name = 0; name < 100; ++name) {
    std::string given;
    while (given.size() < wire::kMostGiven - 20) given += std::to_string(random.next());
    b.part.up(b.first, {{2, {{4, 4}}, 1, fmt::format("tag {}", name)}, 0, 1, given}, b);
    b.part.turn(b);
  }
  CHECK(b.down().size() == 100);
  CHECK(b.part.kept() <= FenceComponent::most_kept(1).bytes / (wire::kMostGiven / 4));
}

TEST_CASE("a launcher keeps no fence in which nobody here or below is", "[fences]") {
  Bench b{Role::below, true};
  const auto nothing = std::make_shared<const std::string>(pack_given(""));
  b.part.down({{2, {{4, 5}}, 1, "ours"}, "", nothing, 0, false}, b);
  b.part.down({{2, {{0, 1}}, 1, "theirs"}, "", nothing, 0, false}, b);
  CHECK(b.part.kept() == 1);
}

}  // namespace charmtree::fence_test
