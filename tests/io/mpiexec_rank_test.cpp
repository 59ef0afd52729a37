// SPDX-License-Identifier: Apache-2.0
// The processes that mpiexec starts: the election, and the launcher's place for the others.
#include "tree/io/mpiexec/mpiexec_rank.hpp"

#include <sys/resource.h>

#include <catch2/catch.hpp>

#include "tree/io/surroundings.hpp"

namespace charmtree::mpiexec_rank_test {

using namespace charmtree::io;

TEST_CASE("a launcher without free descriptors does not spin while others wait for it", "[mpiexec]") {
  const std::string secret = random_bytes(wire::Ticket::kSecret);
  auto own = elect(secret, 1s);
  REQUIRE(own);
  REQUIRE(own->listening);
  const auto other = elect(secret, 1s);
  REQUIRE(other);
  REQUIRE(other->launcher);

  asio::io_context io{1};
  RankLauncher launcher{
      io, {"1", secret, 2, 60s, "/nonexistent", {}}, std::move(*own), {{}, [](const Error&) {}}};
  rlimit usual{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &usual) == 0);
  const rlimit none{0, usual.rlim_max};
  launcher.start({});
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  bool rests = false;
  for (int turn = 0; turn < 1000 && !rests; ++turn) rests = io.poll_one() == 0;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &usual) == 0);
  CHECK(rests);
}

TEST_CASE("the name that one machine's processes elect by tells nobody that of another", "[mpiexec]") {
  const std::string secret = random_bytes(wire::Ticket::kSecret);
  const std::string name = election_socket(secret, "one");
  CHECK(election_socket(secret, "one") == name);
  CHECK(election_socket(secret, "another") != name);
  CHECK(election_socket(random_bytes(wire::Ticket::kSecret), "one") != name);
}

}  // namespace charmtree::mpiexec_rank_test
