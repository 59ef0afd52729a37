// SPDX-License-Identifier: Apache-2.0
#include "tree/job/registrations.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/four_hosts.hpp"

namespace charmtree::registrations_test {

using namespace charmtree::proto;

namespace {

constexpr Instant kNow{100s};

struct Start {
  Start() : registrations(job, hosts) {
    job.processes = 8;
    job.timeout = 60s;
  }
  /// Both processes of this host.
  static wire::TupleBlock block(std::uint32_t host) { return {host, 2 * host, 1, {{1, {}}, {2, {}}}}; }
  void register_all() { registrations.add({block(3), block(1), block(0), block(2)}, 8); }
  wire::JobSpec job;
  std::vector<Host> hosts = test::four_hosts();
  Registrations registrations;
};

}  // namespace

TEST_CASE("all that have registered are taken once, sorted", "[registrations]") {
  Start start;
  CHECK_FALSE(start.registrations.is_pending());
  CHECK_FALSE(start.registrations.take_blocks());
  start.register_all();
  CHECK(start.registrations.is_pending());
  const auto blocks = start.registrations.take_blocks();
  REQUIRE(blocks);
  CHECK(wire::is_complete(*blocks, 8));
  CHECK(start.registrations.has_table());
  CHECK_FALSE(start.registrations.is_pending());
  CHECK_FALSE(start.registrations.take_blocks());
}

TEST_CASE("once one has registered the others have ++timeout", "[registrations]") {
  Start start;
  start.registrations.await(true, kNow);
  CHECK(start.registrations.next_deadline() == kNever);  // a program that never does has no limit
  start.registrations.add({Start::block(0), Start::block(2)}, 4);
  start.registrations.await(false, kNow);
  CHECK(start.registrations.next_deadline() == kNever);  // its time does not run
  start.registrations.await_first(true, kNow);
  start.registrations.await_first(true, kNow + 30s);
  CHECK(start.registrations.next_deadline() == kNow + 60s);
  CHECK_FALSE(start.registrations.is_over(kNow + 59s));
  CHECK(start.registrations.is_over(kNow + 60s));
  CHECK(start.registrations.late_line() ==
        "n[2,4]: start: 4 of 8 processes have not registered within 60 s; do they run the same program? see "
        "also "
        "++timeout");
  CHECK_FALSE(start.registrations.is_over(kNow + 90s));  // it is said once
}

TEST_CASE("nobody is late when all have registered, or have their table", "[registrations]") {
  Start start;
  start.register_all();
  start.registrations.await(true, kNow);
  CHECK_FALSE(start.registrations.is_over(kNow + 60s));
  start.registrations.resume_with_table();
  start.registrations.await(true, kNow);
  CHECK(start.registrations.next_deadline() == kNever);
}

TEST_CASE("a process that is started again before there is a table counts once", "[registrations]") {
  Start start;
  CHECK(start.registrations.add_again({0, 5, 1, {{1, {}}}}));
  CHECK_FALSE(start.registrations.add_again({3, 5, 1, {{1, {}}}}));
  CHECK(start.registrations.count() == 1);
  CHECK(start.registrations.unregistered_hosts() == std::vector<std::string>{"n1", "n2", "n3"});
}

TEST_CASE("processes that are let go register anew", "[registrations]") {
  Start start;
  start.register_all();
  REQUIRE(start.registrations.take_blocks());
  start.registrations.clear();
  CHECK(start.registrations.count() == 0);
  CHECK_FALSE(start.registrations.has_table());
  start.register_all();
  CHECK(start.registrations.take_blocks());
}

}  // namespace charmtree::registrations_test
