// SPDX-License-Identifier: Apache-2.0
#include "tree/overlay/postponed_hosts.hpp"

#include <catch2/catch.hpp>

namespace charmtree::postponed_hosts_test {

using namespace charmtree::proto;

namespace {

constexpr Instant kNow{100s};
const Error kDown{Errc::unreachable, Phase::connect, "no route to host"};

Host host(std::uint32_t index) {
  Host made;
  made.index = index;
  return made;
}

std::vector<std::uint32_t> indices(const std::vector<Host>& hosts) {
  std::vector<std::uint32_t> found;
  for (const Host& each : hosts) found.push_back(each.index);
  return found;
}

}  // namespace

TEST_CASE("a host whose turn had not come is the next run's, once", "[postponed_hosts]") {
  const wire::JobSpec job;
  PostponedHosts postponed{job};
  std::vector<wire::HostFailure> failed;
  postponed.keep(host(3));
  postponed.keep(host(1));
  CHECK(indices(postponed.take(kNow, failed)) == std::vector<std::uint32_t>{3, 1});
  CHECK(postponed.take(kNow, failed).empty());
  CHECK(failed.empty());
}

TEST_CASE("a host that could not be started is told, and in a session tried again after a while",
          "[postponed_hosts]") {
  wire::JobSpec job;
  job.session = true;
  PostponedHosts postponed{job};
  std::vector<wire::HostFailure> failed;
  postponed.could_not_start(host(7), kDown, kNow, failed);
  REQUIRE(failed.size() == 1);
  CHECK(failed[0].host == 7);
  CHECK(failed[0].error.what == kDown.what);
  failed.clear();
  postponed.keep(host(1));
  for (const Instant early : {kNow + 1s, kNow + PostponedHosts::kTryAgain - 1ns}) {
    failed.clear();
    CHECK(indices(postponed.take(early, failed)) ==
          (early == kNow + 1s ? std::vector<std::uint32_t>{1} : std::vector<std::uint32_t>{}));
    REQUIRE(failed.size() == 1);  // each of these runs does without it
    CHECK(failed[0].host == 7);
    CHECK(failed[0].error.what == kDown.what);
  }
  failed.clear();
  CHECK(indices(postponed.take(kNow + PostponedHosts::kTryAgain, failed)) == std::vector<std::uint32_t>{7});
  CHECK(failed.empty());
  CHECK(postponed.take(kNow + 1h, failed).empty());
}

TEST_CASE("a job that is no session does not come back to a host that could not be started",
          "[postponed_hosts]") {
  const wire::JobSpec job;
  PostponedHosts postponed{job};
  std::vector<wire::HostFailure> failed;
  postponed.could_not_start(host(7), kDown, kNow, failed);
  CHECK(failed.size() == 1);
  CHECK(postponed.take(kNow + 1h, failed).empty());
  CHECK(failed.size() == 1);
}

}  // namespace charmtree::postponed_hosts_test
