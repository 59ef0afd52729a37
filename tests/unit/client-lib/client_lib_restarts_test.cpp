// SPDX-License-Identifier: Apache-2.0
// What the client library says of processes that were started again, to a program in a child process; the
// test is its launcher.
#include <catch2/catch.hpp>

#include "client-lib/charmtree.h"
#include "tests/unit/client_lib_harness.hpp"

namespace charmtree::client_lib_restarts_test {

using namespace charmtree::test;
namespace native = charmtree::wire::native;

namespace {

struct RestartsHeard {
  std::vector<int> ranks;
  std::vector<int> nested;    // what calls that wait return
  std::vector<int> barriers;  // behind it when it was told
  std::string tuple;          // of the last one
  int answer = 0;
};

int hear_restarts(ct_job* job, const int* ranks, int count, void* argument) {
  auto& heard = *static_cast<RestartsHeard*>(argument);
  heard.ranks.insert(heard.ranks.end(), ranks, ranks + count);
  heard.barriers.push_back(ct_barriers(job));
  ct_peer peer{};
  heard.nested = {ct_barrier(job), ct_ccs_serve(job), ct_finalize(job, 0), ct_table(job),
                  ct_lookup(job, ranks[count - 1], &peer)};
  heard.tuple.assign(static_cast<const char*>(peer.tuple), peer.size);
  ct_print(job, CT_STDOUT, "heard\n");
  return heard.answer;
}

const wire::NodeTable kTable{0, 1, {{0, 0, 0, {{0, "a"}, {0, "b"}}}}};

native::Renewed renewed(std::uint32_t epoch, const std::string& tuple) {
  return {epoch, {{1, 1, 0x0A000001, {{0, tuple}}}}};
}

}  // namespace

TEST_CASE("restarts are told inside a barrier, which is entered again and opens", "[client]") {
  const Listener listener;
  test::Child child{
      listener, 0, [] {
        ct_job* job = nullptr;
        RestartsHeard heard;
        ct_peer peer{};
        EXPECT(ct_init(&job) == CT_OK && ct_restarts(job) == 0);
        EXPECT(ct_on_restart(job, hear_restarts, &heard) == CT_OK);
        EXPECT(ct_barrier(job) == CT_OK && ct_barriers(job) == 1);
        EXPECT((heard.ranks == std::vector<int>{1, 1}));
        EXPECT((heard.nested == std::vector<int>{CT_EORDER, CT_EORDER, CT_EORDER, CT_OK, CT_OK}));
        EXPECT(heard.tuple == "c" && ct_epoch(job) == 2);
        EXPECT(ct_lookup(job, 1, &peer) == CT_OK && peer.host == 1 &&
               std::string_view{peer.address} == "10.0.0.1");
        return ct_finalize(job, 0) == CT_OK ? 0 : 9;
      }};
  const int fd = welcome(listener);
  send_table(fd, kTable);
  Ear ear{fd};
  CHECK(ear.hears<native::BarrierEnter>().epoch == 0);
  send_to(fd, renewed(1, "b2"));
  CHECK(ear.hears<native::BarrierEnter>().epoch == 1);
  send_to(fd, renewed(2, "c"));
  CHECK(ear.hears<native::BarrierEnter>().epoch == 2);
  CHECK(open_and_let_go(ear, child) == 0);
}

TEST_CASE("of restarts that are heard of while others are told, a process is told before the barrier opens",
          "[client]") {
  const Listener listener;
  test::Child child{listener, 0, [] {
                      ct_job* job = nullptr;
                      RestartsHeard heard;
                      EXPECT(ct_init(&job) == CT_OK);
                      EXPECT(ct_on_restart(job, hear_restarts, &heard) == CT_OK);
                      EXPECT(ct_barrier(job) == CT_OK);
                      EXPECT((heard.barriers == std::vector<int>{0, 0}));
                      return ct_finalize(job, 0) == CT_OK ? 0 : 9;
                    }};
  const int fd = welcome(listener);
  send_table(fd, kTable);
  Ear ear{fd};
  ear.hears<native::BarrierEnter>();
  const std::string both = native::to_frame(renewed(1, "b2")) + native::to_frame(renewed(2, "b3"));
  CHECK(::send(fd, both.data(), both.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(both.size()));
  CHECK(ear.hears<native::BarrierEnter>().epoch == 2);
  CHECK(open_and_let_go(ear, child) == 0);
}

TEST_CASE("a program can be let out of a barrier to go back", "[client]") {
  const Listener listener;
  test::Child child{listener, 0, [] {
                      ct_job* job = nullptr;
                      RestartsHeard heard{.answer = 1};
                      EXPECT(ct_init(&job) == CT_OK);
                      EXPECT(ct_on_restart(job, hear_restarts, &heard) == CT_OK);
                      EXPECT(ct_barrier(job) == CT_ERESTARTED && ct_barriers(job) == 0);
                      EXPECT(ct_barrier(job) == CT_OK && ct_barriers(job) == 1);
                      EXPECT(ct_set_timeout(job, 0) == CT_OK);
                      int served = ct_ccs_serve(job);
                      while (served == CT_ETIMEDOUT) served = ct_ccs_serve(job);
                      EXPECT(served == CT_ERESTARTED && heard.ranks.size() == 2);
                      EXPECT(ct_set_timeout(job, CT_FOREVER) == CT_OK);
                      return ct_finalize(job, 0) == CT_OK ? 0 : 9;
                    }};
  const int fd = welcome(listener);
  send_table(fd, kTable);
  Ear ear{fd};
  ear.hears<native::BarrierEnter>();
  send_to(fd, renewed(1, "b2"));
  CHECK(ear.hears<native::BarrierEnter>().epoch == 1);
  send_to(fd, native::BarrierRelease{});
  send_to(fd, renewed(2, "b3"));
  CHECK(let_go(ear, child) == 0);
}

TEST_CASE("a process that was started again knows how often, and how many barriers it has missed",
          "[client]") {
  const Listener listener;
  test::Child child{listener, 0, [] {
                      ct_job* job = nullptr;
                      EXPECT(ct_init(&job) == CT_OK && ct_restarts(job) == 3);
                      EXPECT(ct_table(job) == CT_OK && ct_barriers(job) == 12 && ct_epoch(job) == 5);
                      EXPECT(ct_barrier(job) == CT_OK && ct_barriers(job) == 13);
                      return ct_finalize(job, 0) == CT_OK ? 0 : 9;
                    }};
  const int fd = listener.accept();
  REQUIRE(fd >= 0);
  send_to(fd, native::Welcome{0, 2, 0, 2, 0, 4, 3, 1, {{0, 1}}, {}});
  send_to(fd, native::Missed{12});
  send_table(fd, {5, 1, kTable.blocks});
  Ear ear{fd};
  CHECK(ear.hears<native::BarrierEnter>().epoch == 5);
  CHECK(open_and_let_go(ear, child) == 0);
}

TEST_CASE("a barrier that was entered before the table came is entered again if that is a later one",
          "[client]") {
  const Listener listener;
  test::Child child{listener, 0, [] {
                      ct_job* job = nullptr;
                      EXPECT(ct_init(&job) == CT_OK);
                      EXPECT(ct_barrier(job) == CT_OK && ct_barriers(job) == 13);
                      return ct_finalize(job, 0) == CT_OK ? 0 : 9;
                    }};
  const int fd = listener.accept();
  REQUIRE(fd >= 0);
  send_to(fd, native::Welcome{0, 2, 0, 2, 0, 4, 1, 1, {{0, 1}}, {}});
  Ear ear{fd};
  CHECK(ear.hears<native::BarrierEnter>().epoch == 4);
  send_to(fd, native::Missed{12});
  send_table(fd, {5, 1, kTable.blocks});
  CHECK(ear.hears<native::BarrierEnter>().epoch == 5);
  CHECK(open_and_let_go(ear, child) == 0);
}

TEST_CASE("restarts of processes that there are not, or before a table, are an error", "[client]") {
  const Listener listener;
  const bool has_table = GENERATE(false, true);
  test::Child child{listener, 0, [] {
                      ct_job* job = nullptr;
                      EXPECT(ct_init(&job) == CT_OK);
                      EXPECT(ct_barrier(job) == CT_EPROTO);
                      ct_finalize(job, 0);
                      return 0;
                    }};
  const int fd = welcome(listener);
  if (has_table) send_table(fd, kTable);
  send_to(fd, native::Renewed{1, {{0, 0, 0, {{0, "a"}, {0, "b"}, {0, "c"}}}}});
  CHECK(child.wait() == 0);
  ::close(fd);
}

}  // namespace charmtree::client_lib_restarts_test
