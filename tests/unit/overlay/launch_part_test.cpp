// SPDX-License-Identifier: Apache-2.0
// What parent, children and the shell say of hosts to be started; how that is done: launch_test.cpp.
#include "tree/overlay/launch_part.hpp"

#include "tests/unit/part_bench.hpp"

namespace charmtree::launch_part_test {

using namespace charmtree::proto;

namespace {

struct Bench final : test::PartBench {
  Bench() : PartBench(Role::below) {
    job.hosts = 8;
    part.begin(job, wire::encode(job), {.level = 1, .self = 0}, random);
  }
  Seat seat() override { return {job, self, part.launch(), nullptr, progress, 1, is_ending, nullptr}; }
  static Host host(std::uint32_t index, std::uint32_t profile = 0) {
    Host made;
    made.index = index;
    made.name = "h" + std::to_string(index);
    made.profile = profile;
    return made;
  }
  LinkId logged_in_to(std::uint32_t index) {
    part.down(wire::Assign{{host(index)}, 0}, *this);
    const LinkId link = take<Login>().at(0).link;
    part.on(LinkUp{link, {}, {}, "a note"}, *this);
    return link;
  }
  LaunchPart part;
};

}  // namespace

TEST_CASE("hosts of the parent are started, unless the job ends or they make no sense", "[launch_part]") {
  Bench b;
  SECTION("now") {
    b.part.down(wire::Assign{{Bench::host(1)}, 0}, b);
    CHECK(b.take<Login>().size() == 1);
  }
  SECTION("with a profile that there is not") {
    b.part.down(wire::Assign{{Bench::host(1), Bench::host(2, 9)}, 0}, b);
    CHECK(b.actions.empty());
  }
  SECTION("at the end") {
    b.is_ending = true;
    b.part.down(wire::Assign{{Bench::host(1)}, 0}, b);
    CHECK(b.actions.empty());
  }
}

TEST_CASE("what a login had to say is told upwards", "[launch_part]") {
  Bench b;
  b.logged_in_to(1);
  REQUIRE(b.told_up.size() == 1);
  CHECK(get<wire::Note>(b.told_up[0]).text == "a note");
  b.part.on(LinkUp{77, {}, {}, "of nobody"}, b);
  CHECK(b.told_up.size() == 1);
}

TEST_CASE("who was sent to adopt is told when it is there, or cannot be", "[launch_part]") {
  Bench b;
  const Host lost = Bench::host(5);
  b.part.launch().adopt(lost, Duration{0}, b.now(), b.actions);
  const LinkId link = b.take<Login>().at(0).link;
  SECTION("there") {
    b.part.on(LinkUp{link, {}, {}, {}}, b);
    REQUIRE(b.news.size() == 1);
    CHECK(get<AdopterUp>(b.news[0]).host == 5);
  }
  SECTION("not there") {
    b.part.on(LoginFailed{link, {Errc::not_authorised, Phase::authenticate, "refused", {}}, {}}, b);
    REQUIRE(b.news.size() == 1);
    CHECK(get<VisitFailed>(b.news[0]).host.index == 5);
    CHECK(get<VisitFailed>(b.news[0]).to_adopt);
  }
}

TEST_CASE("a host that is handed back is tried from here; at the end it has failed", "[launch_part]") {
  Bench b;
  const LinkId link = b.logged_in_to(1);
  b.part.launch().find(link)->below.emplace(2, Bench::host(2));
  b.take<Send>();
  b.told_up.clear();
  const wire::HandBack back{{{2, {Errc::timed_out, Phase::connect, "no answer", {}}}}};
  SECTION("while the launch goes on") {
    b.part.up(link, back, false, b);
    CHECK(b.take<Login>().size() == 1);
    CHECK(b.told_up.empty());
  }
  SECTION("after it") {
    b.part.launch().stop(b.actions);
    b.part.up(link, back, false, b);
    REQUIRE(b.told_up.size() == 1);
    CHECK(get<wire::Facts>(b.told_up[0]).hosts_failed.at(0).host == 2);
  }
  SECTION("after it, with another run to come") {
    b.part.launch().stop(b.actions);
    b.part.up(link, back, true, b);
    CHECK(b.told_up.empty());
  }
}

}  // namespace charmtree::launch_part_test
