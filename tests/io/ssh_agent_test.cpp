// SPDX-License-Identifier: Apache-2.0
// Keys that only the agent holds, and agents that do not answer.
#include <catch2/catch.hpp>

#include "tests/io/ssh_fixture.hpp"
#include "tree/io/clock.hpp"

namespace charmtree::ssh_agent_test {

using namespace charmtree::io;
using namespace charmtree::io::test;

TEST_CASE("a key that only the agent holds logs in", "[ssh]") {
  for (const std::string key : {"ed25519", "ecdsa"}) {
    SshdSetup setup;
    setup.authorized = {key};
    const Sshd sshd(setup);
    const Agent agent({"ed25519-2", key});
    Bench bench(with_agent(agent.socket()));
    Profile profile = sshd.profile();
    profile.identity_files.clear();

    const LoginResult result = bench.login(sshd.host(), profile);
    INFO(to_string(result.error));
    CHECK(result.link);
  }
}

TEST_CASE("a login asks the agent of its profile, or none", "[ssh]") {
  const Sshd sshd;
  const Agent usual({"ed25519"}), other({"ed25519-2"}), fitting({"ed25519"});
  Profile profile = sshd.profile();
  profile.identity_files = {"/nonexistent"};
  const auto login = [&](const Agent& surrounding, const std::string& agent) {
    Bench bench(with_agent(surrounding.socket()));
    profile.agent = agent;
    return bench.login(sshd.host(), profile).link != nullptr;
  };
  CHECK(login(usual, ""));
  CHECK_FALSE(login(usual, "none"));
  CHECK_FALSE(login(usual, other.socket()));
  CHECK(login(other, fitting.socket()));
}

TEST_CASE("a protected key file is used through the agent, also with identities_only", "[ssh]") {
  SshdSetup setup;
  setup.authorized = {"ed25519-passphrase"};
  const Sshd sshd(setup);
  const Agent agent({"ed25519-2", "ed25519-passphrase"});
  Bench bench(with_agent(agent.socket()));
  Profile profile = sshd.profile();
  profile.identity_files = {key_path("ed25519-passphrase")};
  profile.identities_only = true;

  CHECK(bench.login(sshd.host(), profile).link);
}

TEST_CASE("identities_only keeps other keys of the agent out", "[ssh]") {
  const Sshd sshd;
  const Agent agent({"ed25519"});
  Bench bench(with_agent(agent.socket()));
  Profile profile = sshd.profile();
  profile.identity_files = {key_path("ecdsa")};
  profile.identities_only = true;

  CHECK(bench.login(sshd.host(), profile).error.code == Errc::no_usable_key);
}

TEST_CASE("an agent that never answers does not stop a login with a key file", "[ssh]") {
  const Sshd sshd;
  const TempDir directory;
  Bench bench(with_agent(directory.path("agent")));
  asio::local::stream_protocol::acceptor silent(bench.io, directory.path("agent"));
  int ended = 0, good = 0;
  const Instant begun = now();
  for (int i = 0; i < 3; ++i) {
    bench.transport.login(sshd.host(), sshd.profile(), "true", {}, [&](LoginResult result) {
      ++ended;
      good += result.link != nullptr;
    });
  }
  REQUIRE(bench.run_until([&] { return ended == 3; }));
  CHECK(good == 3);
  CHECK(now() - begun < 8s);  // 3 s for the agent, once

  bool called = false;
  const auto id =
      bench.transport.login(sshd.host(), sshd.profile(), "true", {}, [&](LoginResult) { called = true; });
  bench.transport.cancel(id);
  bench.io.restart();
  bench.io.run();
  CHECK_FALSE(called);
}

TEST_CASE("an agent that is gone is no agent", "[ssh]") {
  const Sshd sshd;
  Bench bench(with_agent("/nonexistent/agent"));
  CHECK(bench.login(sshd.host(), sshd.profile()).link);
}

}  // namespace charmtree::ssh_agent_test
