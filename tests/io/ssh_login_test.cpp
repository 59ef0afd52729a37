// SPDX-License-Identifier: Apache-2.0
// Logins against a real sshd, and everything that can go wrong before the remote command runs.
#include <catch2/catch.hpp>

#include <sys/resource.h>

#include "tests/io/ssh_fixture.hpp"
#include "tree/io/clock.hpp"
#include "tree/io/ssh/known_hosts.hpp"
#include "tree/io/ssh/ssh_libraries.hpp"
#include "tree/overlay/host_key.hpp"

namespace charmtree::ssh_login_test {

using namespace charmtree::io;
using namespace charmtree::proto;
using namespace charmtree::io::test;

namespace {

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto as_seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return as_seconds(usage.ru_utime) + as_seconds(usage.ru_stime);
}

}  // namespace

TEST_CASE("a login runs the command and stamps its phases in order", "[ssh]") {
  const Sshd sshd;
  Bench bench;

  LoginResult result = bench.login(sshd.host(), sshd.profile(), "echo hello");

  INFO(to_string(result.error));
  REQUIRE(result.link);
  const LoginSteps& t = result.times;
  CHECK(t.begun <= t.resolved);
  CHECK(t.resolved <= t.connected);
  CHECK(t.connected <= t.handshaken);
  CHECK(t.handshaken <= t.authenticated);
  CHECK(t.authenticated <= t.executed);
  CHECK(t.executed != kNever);
  const auto got = collect(*result.link);
  REQUIRE(bench.run_until([&] { return got->end.has_value(); }));
  CHECK(got->bytes == "hello\n");
  CHECK(got->end->exit_status == 0);
}

TEST_CASE("a login costs a few milliseconds of our CPU", "[ssh]") {
  const Sshd sshd;
  Bench bench;
  (void)bench.login(sshd.host(), sshd.profile());
  static constexpr int kLogins = 20;

  const double before = cpu_seconds();
  for (int i = 0; i < kLogins; ++i) REQUIRE(bench.login(sshd.host(), sshd.profile()).link);
  const double each_ms = (cpu_seconds() - before) / kLogins * 1000;

  WARN("CPU per login: " << each_ms << " ms");
#ifndef CHARMTREE_SANITIZED
  CHECK(each_ms < 8);  // 2 ms on an idle machine; the bound only catches a wrong key exchange or a bcrypt
#endif
}

TEST_CASE("the user's ecdsa key works, and the second key is tried after the first was refused", "[ssh]") {
  SshdSetup setup;
  setup.authorized = {"ecdsa"};
  const Sshd sshd(setup);
  Bench bench;
  Profile profile = sshd.profile();
  profile.identity_files = {key_path("ed25519"), key_path("ecdsa")};

  CHECK(bench.login(sshd.host(), profile).link);
}

TEST_CASE("default key files are found in the home", "[ssh]") {
  const Sshd sshd;
  const TempDir home;
  home.write(".ssh/id_ed25519", read_text(key_path("ed25519")));
  SshSurroundings surroundings = Bench::nobody();
  surroundings.home = home.path("");
  Bench bench(surroundings);
  Profile profile = sshd.profile();
  profile.identity_files.clear();

  CHECK(bench.login(sshd.host(), profile).link);
}

TEST_CASE("a refused key ends as no_usable_key, so that the ssh command may try", "[ssh]") {
  SshdSetup setup;
  setup.authorized = {"ecdsa"};
  const Sshd sshd(setup);
  Bench bench;

  const LoginResult result = bench.login(sshd.host(), sshd.profile());

  CHECK_FALSE(result.link);
  CHECK(to_string(result.error) == "authenticate: the server refused the key; ssh-copy-id puts a key there");
  CHECK(result.error.code == Errc::no_usable_key);
}

TEST_CASE("an RSA key alone needs a libssh2 with SHA-2 for today's sshd", "[ssh]") {
  SshdSetup setup;
  setup.authorized = {"rsa"};
  const Sshd sshd(setup);
  Bench bench;
  Profile profile = sshd.profile();
  profile.identity_files = {key_path("rsa")};

  const LoginResult result = bench.login(sshd.host(), profile);

  if (libssh2_has_sha2_and_gcm()) {
    CHECK(result.link);
    return;
  }
  CHECK(result.error.code == Errc::no_usable_key);
  CHECK(result.error.phase == Phase::authenticate);
}

TEST_CASE("an RSA key works where the server takes SHA-1 signatures, too", "[ssh]") {
  SshdSetup setup;
  setup.authorized = {"rsa"};
  setup.extra = "PubkeyAcceptedAlgorithms +ssh-rsa";
  const Sshd sshd(setup);
  Bench bench;
  Profile profile = sshd.profile();
  profile.identity_files = {key_path("rsa")};

  CHECK(bench.login(sshd.host(), profile).link);
}

TEST_CASE("a key with a passphrase is set aside without a cost, and named", "[ssh]") {
  SshdSetup setup;
  setup.authorized = {"ed25519-passphrase"};
  const Sshd sshd(setup);
  Bench bench;
  Profile profile = sshd.profile();
  profile.identity_files = {key_path("ed25519-passphrase")};

  const LoginResult result = bench.login(sshd.host(), profile);

  CHECK(result.error.code == Errc::no_usable_key);
  CHECK(result.error.what == "no usable private key (" + key_path("ed25519-passphrase") +
                                 " has a passphrase and is not in the ssh agent)");
}

TEST_CASE("a server that takes passwords only is left to the ssh command", "[ssh]") {
  SshdSetup setup;
  setup.extra = "PubkeyAuthentication no\nPasswordAuthentication yes";
  const Sshd sshd(setup);
  Bench bench;

  const LoginResult result = bench.login(sshd.host(), sshd.profile());

  CHECK(result.error.code == Errc::no_usable_key);
  CHECK(result.error.what == "the server takes only: password");
}

TEST_CASE("too many refused keys end as no_usable_key, not as a lost connection", "[ssh]") {
  SshdSetup setup;
  setup.authorized = {"ecdsa"};
  setup.extra = "MaxAuthTries 2";
  const Sshd sshd(setup);
  Bench bench;
  Profile profile = sshd.profile();
  profile.identity_files = {key_path("ed25519"), key_path("ed25519-2"), key_path("ed25519-3"),
                            key_path("ecdsa")};

  const LoginResult result = bench.login(sshd.host(), profile);

  CHECK(result.error.code == Errc::no_usable_key);
}

TEST_CASE("a server that takes too long over the key is named", "[ssh]") {
  SshdSetup setup;
  setup.authorized = {"ecdsa"};  // for the key at hand sshd asks the command
  setup.extra = "AuthorizedKeysCommand /usr/bin/sleep 2\nAuthorizedKeysCommandUser " + Bench::nobody().user;
  const Sshd sshd(setup);
  Bench bench;
  LoginLimits limits;
  limits.authenticate = 300ms;

  const LoginResult result = bench.login(sshd.host(), sshd.profile(), "true", limits);

  CHECK_FALSE(result.link);
  CHECK(to_string(result.error) == "authenticate: no answer within 0.3 s; is the host overloaded?");
  CHECK(result.error.code == Errc::timed_out);
  CHECK(result.times.handshaken != kNever);
  CHECK(result.times.authenticated == kNever);
}

TEST_CASE("host keys are checked", "[ssh]") {
  const Sshd sshd;
  Bench bench;
  Host host = sshd.host();
  Profile profile = sshd.profile();

  SECTION("unknown") {
    host.known_keys.clear();
    const LoginResult result = bench.login(host, profile);
    CHECK(
        to_string(result.error) ==
        "host key: the ssh-ed25519 host key is unknown; log in once with ssh, or use ++accept-new-host-keys");
    CHECK(result.error.code == Errc::host_key_unknown);
  }
  SECTION("changed") {
    host.known_keys = {public_key("ed25519-2")};
    const LoginResult result = bench.login(host, profile);
    CHECK(result.error.code == Errc::host_key_changed);
    CHECK(result.error.fix ==
          "if the host was set up anew: ssh-keygen -R '[HOST]:" + std::to_string(sshd.port()) + "'");
  }
  SECTION("changed, accept_new") {
    host.known_keys = {public_key("ed25519-2")};
    profile.host_keys = HostKeyPolicy::accept_new;
    CHECK(bench.login(host, profile).error.code == Errc::host_key_changed);
  }
  SECTION("changed, no_check") {
    host.known_keys = {public_key("ed25519-2")};
    profile.host_keys = HostKeyPolicy::no_check;
    CHECK(bench.login(host, profile).link);
  }
  SECTION("accepted on first use, and reported") {
    host.known_keys.clear();
    profile.host_keys = HostKeyPolicy::accept_new;
    const LoginResult result = bench.login(host, profile);
    CHECK(result.link);
    CHECK(result.accepted_key == public_key("host_ed25519"));
  }
  SECTION("known: nothing to report") {
    profile.host_keys = HostKeyPolicy::accept_new;
    CHECK(bench.login(host, profile).accepted_key.type.empty());
  }
  SECTION("revoked") {
    host.known_keys = {HostKey{std::string(kRevokedMark), public_key("host_ed25519").blob}};
    host.known_key_revoked = true;
    profile.host_keys = HostKeyPolicy::accept_new;
    const LoginResult result = bench.login(host, profile);
    CHECK(result.error.code == Errc::host_key_changed);
    CHECK(result.error.what == "the ssh-ed25519 host key is revoked in known_hosts");
  }
}

TEST_CASE("of two host-key types the known one is asked for", "[ssh]") {
  SshdSetup setup;
  setup.host_keys = {"ed25519", "ecdsa"};
  const Sshd sshd(setup);
  Bench bench;
  Host host = sshd.host();
  for (const char* known : {"host_ecdsa", "host_ed25519"}) {
    host.known_keys = {public_key(known)};
    const LoginResult result = bench.login(host, sshd.profile());
    INFO(known << ": " << to_string(result.error));
    CHECK(result.link);
  }
}

TEST_CASE(
    "a host of which only the RSA key is known is left to the ssh command where libssh2 has SHA-1 alone",
    "[ssh]") {
  SshdSetup setup;
  setup.host_keys = {"ed25519", "rsa"};
  const Sshd sshd(setup);
  Bench bench;
  Host host = sshd.host();
  host.known_keys = {public_key("host_rsa")};
  const LoginResult result = bench.login(host, sshd.profile());
  if (libssh2_has_sha2_and_gcm()) {
    CHECK(result.link);
  } else {
    CHECK(result.error.code == Errc::no_usable_key);
  }
}

TEST_CASE("a server with an RSA host key alone has nothing in common with a libssh2 without SHA-2 for it",
          "[ssh]") {
  SshdSetup setup;
  setup.host_keys = {"rsa"};
  const Sshd sshd(setup);
  Bench bench;
  // sshd finds that, too, and may reset the connection before we have read its offer: then launchers try
  // again.
  constexpr int kTries = 10;
  LoginResult result = bench.login(sshd.host(), sshd.profile());
  for (int i = 1; i < kTries && result.error.code == Errc::dropped; ++i)
    result = bench.login(sshd.host(), sshd.profile());
  if (libssh2_has_sha2_and_gcm()) {
    CHECK(result.link);
    return;
  }
  CHECK(result.error.code == Errc::no_usable_key);
  CHECK(result.error.phase == Phase::handshake);
}

namespace {
/// A login to a port of this machine that is still to be chosen, for which no account is needed.
struct Visitor {
  Bench bench;
  Host host;
  Profile profile;
  Visitor() {
    host.name = "127.0.0.1";
    profile.user = "nobody";
  }
};
}  // namespace

TEST_CASE("what does not answer, or not as an sshd, is named", "[ssh]") {
  Visitor visitor;
  auto& [bench, host, profile] = visitor;
  LoginLimits limits;
  limits.handshake = 300ms;

  SECTION("nobody listens") {
    profile.port = free_port();
    const LoginResult result = bench.login(host, profile);
    CHECK(result.error.code == Errc::refused);
    CHECK(result.error.phase == Phase::connect);
    CHECK(result.times.resolved != kNever);
    CHECK(result.times.connected == kNever);
  }
  SECTION("a black hole behind an open port") {
    FakeServer server(bench.io, "", FakeServer::Then::silence);
    profile.port = server.port();
    const Instant begun = now();
    const LoginResult result = bench.login(host, profile, "true", limits);
    CHECK(to_string(result.error) == "handshake: no answer within 0.3 s; is the host overloaded?");
    CHECK(result.error.code == Errc::timed_out);
    CHECK(now() - begun < 2s);
  }
  SECTION("silence after the banner") {
    FakeServer server(bench.io, "SSH-2.0-Nothing\r\n", FakeServer::Then::silence);
    profile.port = server.port();
    CHECK(bench.login(host, profile, "true", limits).error.code == Errc::timed_out);
  }
  SECTION("closed before the banner") {
    FakeServer server(bench.io, "", FakeServer::Then::close);
    profile.port = server.port();
    const LoginResult result = bench.login(host, profile, "true", limits);
    CHECK(result.error.code == Errc::busy);
    CHECK(result.error.phase == Phase::handshake);
  }
  SECTION("closed after the banner") {
    FakeServer server(bench.io, "SSH-2.0-Nothing\r\n", FakeServer::Then::close);
    profile.port = server.port();
    CHECK(bench.login(host, profile, "true", limits).error.code == Errc::dropped);
  }
  SECTION("a web server") {
    FakeServer server(bench.io, "HTTP/1.1 400 Bad Request\r\n\r\n", FakeServer::Then::close);
    profile.port = server.port();
    const LoginResult result = bench.login(host, profile, "true", limits);
    CHECK(result.error.code == Errc::handshake);
    CHECK(result.error.what == "this is not an ssh server, it said \"HTTP/1.1 400 Bad Request\"");
  }
  SECTION("an endless talker") {
    FakeServer server(bench.io, std::string(1'000'000, 'x'), FakeServer::Then::close);
    profile.port = server.port();
    CHECK_FALSE(bench.login(host, profile, "true", limits).link);
  }
  SECTION("no such name") {
    host.name = "no-such-host.invalid";
    limits.resolve = 5s;
    const LoginResult result = bench.login(host, profile, "true", limits);
    CHECK(result.error.phase == Phase::resolve);
    CHECK((result.error.code == Errc::no_such_host || result.error.code == Errc::timed_out));
  }
}

TEST_CASE("an sshd that is too busy, and one that punishes us, say so before the banner", "[ssh]") {
  Visitor visitor;
  const auto login = [&](const std::string& said) {
    FakeServer server(visitor.bench.io, said, FakeServer::Then::close);
    visitor.profile.port = server.port();
    return visitor.bench.login(visitor.host, visitor.profile).error;
  };
  const Error busy = login("Exceeded MaxStartups\r\n");
  CHECK(busy.code == Errc::busy);
  CHECK(busy.what == "the server is too busy: Exceeded MaxStartups");
  const Error penalty = login("Not allowed at this time\r\n");
  CHECK(penalty.code == Errc::penalised);
  CHECK(penalty.what == "the server makes us wait: Not allowed at this time");
}

TEST_CASE("known keys decide the order of algorithms, revoked ones do not", "[ssh]") {
  Host host;
  CHECK(host_key_order(host) ==
        "ssh-ed25519,ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,ecdsa-sha2-nistp521,rsa-sha2-512,rsa-sha2-256,"
        "ssh-rsa");
  host.known_keys = {HostKey{std::string(kRevokedMark), public_key("host_rsa").blob},
                     HostKey{std::string(kOtherPortMark), public_key("host_ecdsa").blob}};
  CHECK(host_key_order(host) ==
        "ecdsa-sha2-nistp256,ssh-ed25519,ecdsa-sha2-nistp384,ecdsa-sha2-nistp521,rsa-sha2-512,rsa-sha2-256,"
        "ssh-rsa");
}

TEST_CASE("a key known for another port is taken, but another one of its type is no change", "[ssh]") {
  Host host;
  Profile profile;
  host.known_keys = {HostKey{std::string(kOtherPortMark), public_key("host_ed25519").blob}};
  CHECK(*judge_host_key(host, profile, public_key("host_ed25519").blob) == HostKeyVerdict::known);
  CHECK(judge_host_key(host, profile, public_key("ed25519-2").blob).error().code == Errc::host_key_unknown);
}

TEST_CASE("only the flag that a key is revoked: nothing but a known key passes", "[ssh]") {
  Host host;
  Profile profile;
  profile.host_keys = HostKeyPolicy::accept_new;
  host.known_key_revoked = true;
  CHECK(judge_host_key(host, profile, public_key("host_ed25519").blob).error().code ==
        Errc::host_key_changed);
  host.known_keys = {public_key("host_ed25519")};
  CHECK(judge_host_key(host, profile, public_key("host_ed25519").blob).ok());
}

TEST_CASE("a login uses the algorithms of its profile", "[ssh]") {
  SshdSetup setup;
  setup.host_keys = {"ed25519", "ecdsa"};
  setup.extra = "LogLevel DEBUG";
  const Sshd sshd(setup);
  Bench bench;
  Profile profile = sshd.profile();
  profile.algorithms = {"ecdh-sha2-nistp384", "ecdsa-sha2-nistp256", "aes256-ctr", "hmac-sha2-512",
                        "ssh-ed25519"};
  const LoginResult result = bench.login(sshd.host(), profile);
  INFO(to_string(result.error));
  REQUIRE(result.link);
  const std::string log = sshd.log();
  for (const char* used :
       {"kex: algorithm: ecdh-sha2-nistp384", "kex: host key algorithm: ecdsa-sha2-nistp256",
        "kex: client->server cipher: aes256-ctr MAC: hmac-sha2-512",
        "kex: server->client cipher: aes256-ctr MAC: hmac-sha2-512"}) {
    CAPTURE(used);
    CHECK(log.find(used) != std::string::npos);
  }

  profile.algorithms.user_keys = "ecdsa-sha2-nistp256";  // the profile's key is another
  CHECK(bench.login(sshd.host(), profile).error.code == Errc::no_usable_key);
  profile.algorithms.ciphers = "aes256-gcm@openssh.com";  // libssh2 has none of them: never another
  CHECK(bench.login(sshd.host(), profile).error.code == Errc::no_usable_key);
}

}  // namespace charmtree::ssh_login_test
