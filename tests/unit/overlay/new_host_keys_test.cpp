// SPDX-License-Identifier: Apache-2.0
#include "tree/overlay/new_host_keys.hpp"

#include <catch2/catch.hpp>

#include "tree/overlay/host_key.hpp"
#include "tree/wire/ssh_blob.hpp"

namespace charmtree::new_host_keys_test {

using namespace charmtree::proto;

namespace {

HostKey make_key(char filling, const std::string& type = "ssh-ed25519") {
  HostKey key{type, {}};
  wire::append_string(key.blob, type);
  wire::append_string(key.blob, std::string(32, filling));
  return key;
}

HostKey marked(std::string_view mark, HostKey key) {
  key.type = mark;
  return key;
}

/// A host of which known_hosts holds `known`, and a launcher that reports a key for it.
struct Controller {
  explicit Controller(std::vector<HostKey> known = {}) {
    host.index = 7;
    host.known_keys = std::move(known);
    profile.host_keys = HostKeyPolicy::accept_new;
  }
  /// "written", "nothing", or why it is refused.
  std::string report(const HostKey& key) {
    const auto verdict = keys.judge(host, profile, key);
    if (!verdict) return verdict.error().what;
    return *verdict ? "written" : "nothing";
  }

  Host host;
  Profile profile;
  NewHostKeys keys;
};

}  // namespace

TEST_CASE("a key of a host that nobody knows is written down, once", "[host_key]") {
  Controller controller;
  CHECK(controller.report(make_key('a')) == "written");
  CHECK(controller.report(make_key('a')) == "nothing");  // of a later login, to clean up
  CHECK(controller.report(make_key('b')) == "another one has been added in this job already");
  CHECK(controller.report(make_key('c')) == "nothing");  // told once
  CHECK(controller.report(make_key('e', "ecdsa-sha2-nistp256")) == "nothing");
  controller.host.index = 8;
  CHECK(controller.report(make_key('b')) == "written");
}

TEST_CASE("nothing is added beside what known_hosts holds for a host", "[host_key]") {
  CHECK(Controller{{make_key('a')}}.report(make_key('a')) == "nothing");
  CHECK(Controller{{make_key('a')}}.report(make_key('b')) ==
        "the ssh-ed25519 host key has changed (or someone is in between)");
  CHECK(Controller{{marked(kRevokedMark, make_key('a'))}}.report(make_key('a')) ==
        "the ssh-ed25519 host key is revoked in known_hosts");
  CHECK(Controller{{marked(kOtherPortMark, make_key('a'))}}.report(make_key('a')) == "nothing");
  CHECK(Controller{{marked(kOtherPortMark, make_key('a'))}}.report(make_key('b')) ==
        "written");  // no change: ssh's rule
  CHECK(Controller{{make_key('r', "ssh-rsa")}}.report(make_key('b')) ==
        "known_hosts holds only keys that libssh2 cannot ask for");
  Controller flagged;
  flagged.host.known_key_revoked = true;
  CHECK(flagged.report(make_key('a')) == "the ssh-ed25519 host key is revoked in known_hosts");
}

TEST_CASE("where a login from here would report no new key, none is taken", "[host_key]") {
  Controller controller;
  SECTION("the user has not asked for it") {
    controller.profile.host_keys = GENERATE(HostKeyPolicy::strict, HostKeyPolicy::no_check);
    CHECK(controller.report(make_key('a')) == "new keys are not to be added (++accept-new-host-keys)");
  }
  SECTION("the ssh command would log in") {
    controller.profile.ssh_command_only = true;
    CHECK(controller.report(make_key('a')) == "such hosts are not logged in to by the built-in ssh");
  }
  SECTION("so would another command, or none") {
    controller.profile.via = GENERATE(Via::command, Via::local);
    CHECK(controller.report(make_key('a')) == "such hosts are not logged in to by the built-in ssh");
  }
  SECTION("it is no key") {
    CHECK(controller.report({"ssh-ed25519", "x"}) == "it is no key");
  }
  SECTION("it is no key of that type") {
    CHECK(controller.report(marked("ssh-rsa", make_key('a'))) == "it is no key");
  }
  SECTION("it is nothing at all") {
    CHECK(controller.report({}) == "it is no key");
  }
}

TEST_CASE("a key of a host that the job has is stored, or why not is said", "[host_key]") {
  wire::JobSpec job;
  job.profiles.resize(1);
  job.profiles[0].host_keys = HostKeyPolicy::accept_new;
  std::vector<Host> hosts(2);
  hosts[1].index = 1;
  hosts[1].name = "h1";
  NewHostKeys keys;
  Actions out;
  keys.on({.host = 2, .key = make_key('a')}, job, hosts, out);
  CHECK(out.empty());
  keys.on({.host = 1, .key = make_key('a')}, job, hosts, out);
  REQUIRE(out.size() == 1);
  CHECK(get<StoreHostKey>(out[0]).host == 1);
  keys.on({.host = 1, .key = make_key('b')}, job, hosts, out);
  REQUIRE(out.size() == 2);
  CHECK(get<Say>(out[1]).text.starts_with("h1: a host key that was reported for it is not added: "));
}

}  // namespace charmtree::new_host_keys_test
