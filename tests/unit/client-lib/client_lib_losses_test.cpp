// SPDX-License-Identifier: Apache-2.0
// What the client library says of lost processes, to a program in a child process; the test is its launcher.
#include <catch2/catch.hpp>

#include "client-lib/charmtree.h"
#include "tests/unit/client_lib_harness.hpp"

namespace charmtree::client_lib_losses_test {

using namespace charmtree::test;
namespace native = charmtree::wire::native;

namespace {

struct LossesHeard {
  std::vector<int> ranks;
  int calls = 0;
  std::vector<int> nested;  // what calls that wait return
};

void hear_losses(ct_job* job, const int* ranks, int count, void* argument) {
  auto& heard = *static_cast<LossesHeard*>(argument);
  ++heard.calls;
  heard.ranks.insert(heard.ranks.end(), ranks, ranks + count);
  ct_peer peer{};
  heard.nested = {ct_barrier(job),          ct_table(job),
                  ct_ccs_serve(job),        ct_finalize(job, 0),
                  ct_lookup(job, 1, &peer), ct_print(job, CT_STDOUT, "lost\n")};
}

}  // namespace

TEST_CASE("losses are told inside a barrier, before it opens, and the lost are known", "[client]") {
  const Listener listener;
  test::Child child{
      listener, 0, [] {
        ct_job* job = nullptr;
        LossesHeard heard;
        EXPECT(ct_init(&job) == CT_OK);
        EXPECT(ct_on_loss(job, hear_losses, &heard) == CT_OK);
        EXPECT(ct_table(job) == CT_OK);
        EXPECT(ct_alive(job, 1) == 1);
        EXPECT(ct_barrier(job) == CT_OK);
        EXPECT(heard.calls == 1);
        EXPECT((heard.ranks == std::vector<int>{1}));
        EXPECT((heard.nested == std::vector<int>{CT_EORDER, CT_EORDER, CT_EORDER, CT_EORDER, CT_OK, CT_OK}));
        EXPECT(ct_alive(job, 1) == 0);
        EXPECT(ct_alive(job, 0) == 1);
        EXPECT(ct_alive(job, 2) == CT_EINVAL);
        EXPECT(ct_alive(job, -1) == CT_EINVAL);
        return ct_finalize(job, 0) == CT_OK ? 0 : 9;
      }};
  const int fd = welcome(listener);
  send_table(fd, {0, 1, {{0, 0, 0, {{0, "a"}, {0, "b"}}}}});
  Ear ear{fd};
  ear.hears<native::BarrierEnter>();
  send_to(fd, native::Lost{{{1, 1}}});
  ear.hears<native::Print>();  // by the handler, while the barrier is closed
  send_to(fd, native::Lost{{{1, 1}}});
  CHECK(open_and_let_go(ear, child) == 0);
}

TEST_CASE("losses that came before somebody asked are told, and impossible ones are an error", "[client]") {
  const Listener listener;
  test::Child child{listener, 0, [] {
                      ct_job* job = nullptr;
                      LossesHeard heard;
                      EXPECT(ct_init(&job) == CT_OK);
                      EXPECT(ct_barrier(job) == CT_OK);
                      EXPECT(heard.calls == 0 && ct_alive(job, 1) == 0);
                      EXPECT(ct_on_loss(job, hear_losses, &heard) == CT_OK);
                      EXPECT(heard.calls == 0);
                      EXPECT(ct_set_timeout(job, 0) == CT_OK);
                      EXPECT(ct_ccs_serve(job) == CT_ETIMEDOUT);
                      EXPECT(heard.calls == 1);
                      EXPECT(ct_on_loss(job, nullptr, nullptr) == CT_OK);
                      EXPECT(ct_set_timeout(job, CT_FOREVER) == CT_OK);
                      EXPECT(ct_barrier(job) == CT_EPROTO);
                      ct_finalize(job, 0);
                      return 0;
                    }};
  const int fd = welcome(listener);
  send_table(fd, {0, 1, {{0, 0, 0, {{0, "a"}, {0, "b"}}}}});
  send_to(fd, native::Lost{{{1, 1}}});
  Ear ear{fd};
  ear.hears<native::BarrierEnter>();
  send_to(fd, native::BarrierRelease{});
  ear.hears<native::BarrierEnter>();
  send_to(fd, native::Lost{{{1, 2}}});
  CHECK(child.wait() == 0);
  ::close(fd);
}

}  // namespace charmtree::client_lib_losses_test
