// SPDX-License-Identifier: Apache-2.0
// Logins without a key, signed by somebody else: the transport that asks, and the signer that answers.
#include <catch2/catch.hpp>

#include <unistd.h>

#include "tests/io/ssh_fixture.hpp"
#include "tree/io/clock.hpp"
#include "tree/io/ssh/signer.hpp"
#include "tree/io/ssh/ssh_libraries.hpp"
#include "tree/io/ssh/ssh_wire.hpp"
#include "tree/wire/userauth.hpp"

namespace charmtree::ssh_forward_test {

using namespace charmtree::io;
using namespace charmtree::io::test;

namespace {

/// A profile without keys of its own that may use these of the signer's.
Profile keyless(const Sshd& sshd, std::vector<std::string> keys) {
  Profile profile = sshd.profile();
  profile.identity_files.clear();
  profile.forwarded_keys = std::move(keys);
  return profile;
}

void open(Bench& bench, Signer& signer) {
  bool ready = false;
  signer.open({}, [&] { ready = true; });
  REQUIRE(bench.run_until([&] { return ready; }));
}

std::string to_sign(const std::string& key, const std::string& user = "joe") {
  return encode(wire::UserauthRequest{std::string(wire::kLeastSession, 's'), user, key_type(key), key});
}

/// What this launcher's logins ask for is signed by that signer.
void connect(Bench& bench, Signer& signer, std::vector<std::string>& asked) {
  bench.transport.set_signer([&](Transport::LoginId id, std::string data) {
    asked.push_back(data);
    const auto request = wire::parse_userauth_request(data);
    REQUIRE(request);
    signer.sign(request->key, data, [&bench, id](std::string signature) {
      bench.transport.give_signature(id, std::move(signature));
    });
  });
}

}  // namespace

TEST_CASE("a login is signed by another launcher's agent or key file", "[ssh]") {
  const bool in_file = GENERATE(true, false);
  for (const std::string key : {"ed25519", "ecdsa"}) {
    SshdSetup setup;
    setup.authorized = {key};
    const Sshd sshd(setup);
    CAPTURE(key, in_file);
    const Agent agent({"ed25519-2", key});
    Bench bench;
    Signer signer(bench.io, in_file ? Bench::nobody() : with_agent(agent.socket()));
    open(bench, signer);
    Profile root = sshd.profile();
    root.identity_files.clear();
    if (in_file) root.identity_files = {key_path("ed25519-2"), key_path(key)};
    const auto keys = signer.keys_for(root);
    std::vector<std::string> asked;
    connect(bench, signer, asked);

    const LoginResult result = bench.login(sshd.host(), keyless(sshd, keys));
    INFO(to_string(result.error));
    if (in_file && key == "ecdsa") {  // only libssh2 can read such a file
      CHECK(keys == std::vector<std::string>{public_key("ed25519-2").blob});
      CHECK(result.error.code == Errc::no_usable_key);
      CHECK(asked.empty());
      continue;
    }
    CHECK(keys == std::vector<std::string>{public_key("ed25519-2").blob, public_key(key).blob});
    CHECK(result.link);
    REQUIRE(asked.size() == 1);  // only for the key that the server takes
    const auto request = wire::parse_userauth_request(asked[0]);
    CHECK(request->user == root.user);
    CHECK(request->key == public_key(key).blob);
  }
}

TEST_CASE("identities_only keeps other keys of the agent from being offered", "[ssh]") {
  const Agent agent({"ed25519", "ed25519-2", "rsa"});
  Bench bench;
  Signer signer(bench.io, with_agent(agent.socket()));
  open(bench, signer);
  Profile profile;
  CHECK(signer.keys_for(profile).size() == (libssh2_has_sha2_and_gcm() ? 3 : 2));  // the third is RSA
  profile.identities_only = true;
  profile.identity_files = {key_path("ed25519-2")};
  CHECK(signer.keys_for(profile) == std::vector<std::string>{public_key("ed25519-2").blob});
}

TEST_CASE("a key that this host has, too, is used here", "[ssh]") {
  const Sshd sshd;
  Bench bench;
  bench.transport.set_signer([](Transport::LoginId, const std::string&) { FAIL("asked the root"); });
  Profile profile = sshd.profile();
  profile.forwarded_keys = {public_key("ed25519").blob};
  CHECK(bench.login(sshd.host(), profile).link);
}

TEST_CASE("keys that are offered are not tried where nobody signs", "[ssh]") {
  const Sshd sshd;
  Bench bench;
  const LoginResult result = bench.login(sshd.host(), keyless(sshd, {public_key("ed25519").blob}));
  CHECK(result.error.code == Errc::no_usable_key);
  CHECK(result.error.what == "no usable private key");
}

TEST_CASE("a login whose signature is refused, wrong or never comes ends", "[ssh]") {
  const Sshd sshd;
  Bench bench;
  const Profile profile = keyless(sshd, {public_key("ed25519").blob});
  LoginLimits limits;
  SECTION("refused") {
    bench.transport.set_signer(
        [&](Transport::LoginId id, const std::string&) { bench.transport.give_signature(id, {}); });
    const LoginResult result = bench.login(sshd.host(), profile);
    CHECK(result.error.code == Errc::no_usable_key);
    CHECK(result.error.what == "nobody signed with the key that the server takes");
  }
  SECTION("wrong") {
    bench.transport.set_signer([&](Transport::LoginId id, const std::string&) {
      bench.transport.give_signature(id, std::string(64, 'x'));
    });
    CHECK(bench.login(sshd.host(), profile).error.code == Errc::no_usable_key);
  }
  SECTION("never") {
    limits.authenticate = 500ms;
    bench.transport.set_signer([](Transport::LoginId, const std::string&) {});
    const Instant begun = now();
    const LoginResult result = bench.login(sshd.host(), profile, "true", limits);
    CHECK(result.error.code == Errc::timed_out);
    CHECK(result.error.phase == Phase::authenticate);
    CHECK(now() - begun < 5s);
  }
  SECTION("given up in the meantime") {
    Transport::LoginId id = 0;
    bool asked = false;
    bench.transport.set_signer([&](Transport::LoginId, const std::string&) { asked = true; });
    id = bench.transport.login(sshd.host(), profile, "true", {}, [](LoginResult) { FAIL("was given up"); });
    REQUIRE(bench.run_until([&] { return asked; }));
    bench.transport.cancel(id);
    bench.transport.give_signature(id, std::string(64, 'x'));
    bench.io.restart();
    bench.io.run();
  }
}

TEST_CASE("an agent that is gone, silent or refuses is a refusal", "[ssh]") {
  const std::string key = public_key("ed25519").blob;
  std::optional<std::string> answer;
  const auto take = [&](std::string signature) { answer = std::move(signature); };
  Bench bench;
  SECTION("gone") {
    std::string socket;
    std::optional<Signer> signer;
    {
      const Agent agent({"ed25519"});
      signer.emplace(bench.io, with_agent(agent.socket()));
      open(bench, *signer);
      CHECK(signer->keys_for({}) == std::vector<std::string>{key});
    }
    signer->sign(key, to_sign(key), take);
    REQUIRE(bench.run_until([&] { return answer.has_value(); }));
    CHECK(answer->empty());
  }
  SECTION("it holds no such key") {
    const Agent agent({"ed25519-2"});
    Signer signer(bench.io, with_agent(agent.socket()));
    signer.sign(key, to_sign(key), take);
    REQUIRE(bench.run_until([&] { return answer.has_value(); }));
    CHECK(answer->empty());
  }
  SECTION("silent: those who wait for their turn do not wait for longer") {
    const TempDir directory;
    asio::local::stream_protocol::acceptor silent(bench.io, directory.path("agent"));
    Signer signer(bench.io, with_agent(directory.path("agent")));
    std::size_t refused = 0;
    const Instant begun = now();
    for (std::size_t i = 0; i < 3 * Signer::kMostOpen; ++i)
      signer.sign(key, to_sign(key), [&](const std::string& signature) { refused += signature.empty(); });
    REQUIRE(bench.run_until([&] { return refused == 3 * Signer::kMostOpen; }));
    CHECK(now() - begun >= Signer::kLimit);
    CHECK(now() - begun < Signer::kLimit + 3s);
  }
}

TEST_CASE("many signatures at a time all come", "[ssh]") {
  const Agent agent({"ed25519"});
  Bench bench;
  Signer signer(bench.io, with_agent(agent.socket()));
  const std::string key = public_key("ed25519").blob;
  std::size_t came = 0;
  for (int i = 0; i < 500; ++i)
    signer.sign(key, to_sign(key, std::to_string(i)),
                [&](const std::string& signature) { came += signature.size() == 64; });
  REQUIRE(bench.run_until([&] { return came == 500; }));
}

}  // namespace charmtree::ssh_forward_test
