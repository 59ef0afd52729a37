// SPDX-License-Identifier: Apache-2.0
// One launcher's share in an end; whole trees: node_ending_test.cpp, node_session_test.cpp.
#include "tree/job/shutdown.hpp"

#include "tests/unit/part_bench.hpp"

namespace charmtree::shutdown_test {

using namespace charmtree::proto;

namespace {

constexpr wire::End kStop{wire::EndMode::stop, 15}, kKill{wire::EndMode::kill, 9};
constexpr wire::End kFinish{wire::EndMode::finish, 15}, kRunEnds{wire::EndMode::finish, 15, true};

struct Bench final : test::PartBench {
  explicit Bench(Role where = Role::below) : PartBench(where) { job.grace = 2s; }
  Child& child(LinkId link) { return *launch.find(link); }
  /// The children have ended, or this host is given up.
  bool is_due() { return part.is_due(part.waits_for_output(false, true, *this), *this); }
  Shutdown part;
};

}  // namespace

TEST_CASE("an end is passed on, and SIGKILL is due after the grace", "[shutdown]") {
  Bench b;
  b.PartBench::child();
  CHECK_FALSE(b.part.has_begun());
  CHECK(b.part.order(kStop, b) == Shutdown::Order::first);
  CHECK(b.part.has_begun());
  REQUIRE(b.handed_to_all.size() == 1);
  CHECK(get<wire::End>(b.handed_to_all[0]).signal == 15);
  CHECK(b.part.next_deadline() == b.now() + 2s);
}

TEST_CASE("the same order twice is one, a kill is more, and after it nothing is", "[shutdown]") {
  Bench b;
  b.part.order(kStop, b);
  CHECK(b.part.order(kStop, b) == Shutdown::Order::ignored);
  CHECK(b.part.order(kKill, b) == Shutdown::Order::again);
  CHECK(b.part.kills());
  CHECK(b.part.next_deadline() == b.now());
  CHECK(b.part.order(kKill, b) == Shutdown::Order::ignored);
  CHECK(b.handed_to_all.size() == 2);
}

TEST_CASE("the end of the job overrules the end of a run, and not the other way", "[shutdown]") {
  Bench b;
  b.part.order(kRunEnds, b);
  CHECK(b.part.stays());
  CHECK(b.part.order(kRunEnds, b) == Shutdown::Order::ignored);
  CHECK(b.part.order(kFinish, b) == Shutdown::Order::again);
  CHECK_FALSE(b.part.stays());
  CHECK(b.part.order(kRunEnds, b) == Shutdown::Order::ignored);
}

TEST_CASE("an end waits for each child, until its time is over", "[shutdown]") {
  Bench b(test::PartBench::Role::root);
  const LinkId quick = b.PartBench::child(), slow = b.PartBench::child();
  b.part.order(kStop, b);
  CHECK_FALSE(b.part.advance(b));  // a root has nothing on its host
  CHECK(b.part.is_under_way());
  CHECK_FALSE(b.is_due());
  b.child(quick).done();
  CHECK_FALSE(b.is_due());
  SECTION("it says that it has ended") {
    b.child(slow).done();
    CHECK(b.is_due());
    b.part.finish(b);
    CHECK(b.part.unconfirmed().empty());
  }
  SECTION("it does not") {
    b.at(b.now() + 5s);
    CHECK(b.is_due());
    b.part.finish(b);
    CHECK(b.part.unconfirmed() == std::set{b.child(slow).host.index});
    CHECK(b.take<CloseLink>().at(0).link == slow);
  }
  CHECK(b.part.is_finished());
  CHECK(b.part.next_deadline() == kNever);
}

TEST_CASE("a launcher tells its parent who has not confirmed, if it has one", "[shutdown]") {
  Bench b;
  const LinkId link = b.PartBench::child();
  b.part.order(kKill, b);
  b.part.leave_unconfirmed(7);
  SECTION("it has") {
    b.part.finish(b);
    const wire::Done done = get<wire::Done>(b.take<Send>().at(0).message);
    CHECK(done.unconfirmed == std::vector<std::uint32_t>{b.child(link).host.index, 7});
  }
  SECTION("it has none") {
    b.way = WayUp::gone;
    b.part.finish(b);
    CHECK(b.take<Send>().empty());
  }
}

TEST_CASE("a launcher that comes late reads first what has come meanwhile", "[shutdown]") {
  Bench b(test::PartBench::Role::root);
  b.PartBench::child();
  b.part.order(kStop, b);
  b.part.advance(b);
  b.at(b.now() + 1h);  // it was stopped, say
  CHECK_FALSE(b.is_due());
  b.at(b.now() + 500ms);
  CHECK(b.is_due());
}

TEST_CASE("output that moves makes the wait longer; what is held does if the program is done", "[shutdown]") {
  Bench b;
  const Instant begun = b.now();
  SECTION("asked to end") {
    b.part.order(kStop, b);
    const Instant until = begun + 5s;  // the grace, and what children need
    b.at(begun + 4s);
    CHECK(b.part.waits_for_output(false, false, b));
    CHECK_FALSE(b.part.is_due(true, b));
    b.at(until);
    CHECK(b.part.is_due(true, b));
    CHECK(b.part.waits_for_output(true, false, b));
    CHECK_FALSE(b.part.is_due(true, b));
  }
  SECTION("done") {
    b.part.order(kFinish, b);
    for (int hour = 1; hour < 4; ++hour) {
      b.at(begun + hour * 1h);
      CHECK(b.part.waits_for_output(false, false, b));
      CHECK_FALSE(b.part.is_due(true, b));
    }
  }
  SECTION("killed: nobody is waited for") {
    b.part.order(kKill, b);
    CHECK_FALSE(b.part.waits_for_output(true, false, b));
  }
  SECTION("nobody reads") {
    b.part.order({wire::EndMode::stop, 13}, b);
    CHECK_FALSE(b.part.wants_output());
    CHECK_FALSE(b.part.waits_for_output(true, false, b));
  }
}

TEST_CASE("a run ends, and who was too slow is given up and takes no part in the next", "[shutdown]") {
  Bench b;
  const LinkId ready = b.PartBench::child(), slow = b.PartBench::child();
  CHECK_FALSE(b.part.up(b.child(ready), wire::Idle{}));  // it has not heard yet
  b.part.order(kRunEnds, b);
  CHECK(b.part.up(b.child(ready), wire::Idle{{9}, {9}}));
  CHECK(b.child(ready).stays());
  CHECK_FALSE(b.is_due());
  b.part.give_up_busy(b);
  REQUIRE(b.given_up.size() == 1);
  CHECK(b.given_up[0].first == slow);
  b.part.rest();
  CHECK(b.part.is_idle());
  CHECK(b.part.idle().unconfirmed == std::vector<std::uint32_t>{b.child(slow).host.index, 9});
  CHECK(b.part.unbounded().contains(9));
  CHECK(b.part.unbounded().contains(b.child(slow).host.index));
}

TEST_CASE("what is cleaned up after the end of a run is told upwards", "[shutdown]") {
  Bench b;
  b.part.order(kRunEnds, b);
  b.part.leave_unconfirmed(std::vector<std::uint32_t>{3, 4});
  b.part.confirm({3}, b);
  CHECK(b.handed_up.empty());  // before, it is not waited for
  b.part.rest();
  b.part.confirm({4}, b);
  REQUIRE(b.handed_up.size() == 1);
  CHECK(get<wire::Confirmed>(b.handed_up[0]).hosts == std::vector<std::uint32_t>{4});
  CHECK(b.part.unconfirmed().empty());
}

TEST_CASE("that nothing is left on a host is told where processes are started again elsewhere",
          "[shutdown]") {
  Bench b;
  b.part.tell_fenced(3, b);
  CHECK(b.told_up.empty());
  b.job.loss.recovery = wire::Recovery::in_place;
  b.part.tell_fenced(3, b);
  REQUIRE(b.told_up.size() == 1);
  CHECK(get<wire::Fenced>(b.told_up[0]).host == 3);
  b.part.order(kStop, b);
  b.part.tell_fenced(4, b);
  CHECK(b.told_up.size() == 1);
}

}  // namespace charmtree::shutdown_test
