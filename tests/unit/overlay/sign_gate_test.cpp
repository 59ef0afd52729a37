// SPDX-License-Identifier: Apache-2.0
#include "tree/overlay/sign_gate.hpp"

#include <catch2/catch.hpp>

#include "tree/wire/ssh_blob.hpp"
#include "tree/wire/userauth.hpp"

namespace charmtree::sign_gate_test {

using namespace charmtree::proto;

namespace {

constexpr std::uint32_t kTries = 4;

std::string make_key(char filling) {
  std::string blob;
  wire::append_string(blob, "ssh-ed25519");
  wire::append_string(blob, std::string(32, filling));
  return blob;
}

std::string login(const std::string& user, const std::string& key) {
  return wire::encode(wire::UserauthRequest{std::string(32, 's'), user, "ssh-ed25519", key});
}

Host make_host(std::uint32_t index, std::uint32_t profile) {
  Host host;
  host.index = index;
  host.profile = profile;
  return host;
}

/// Profile 0: joe with the keys a and b; 1: ann with b; 2: nobody is named; 3: nothing is offered.
struct Controller {
  Controller() {
    job.profiles.resize(4);
    job.profiles[0].user = job.profiles[3].user = "joe";
    job.profiles[1].user = "ann";
    job.profiles[0].forwarded_keys = {make_key('a'), make_key('b')};
    job.profiles[1].forwarded_keys = {make_key('b')};
    job.profiles[2].forwarded_keys = {make_key('a')};
  }
  /// The reason of a refusal; empty: admitted.
  std::string ask(const Host& host, const std::string& data, bool is_ending = false) {
    const auto key = gate.admit(host, data, is_ending);
    if (!key) return key.error().what;
    CHECK(*key == wire::parse_userauth_request(data)->key);
    return {};
  }

  wire::JobSpec job;
  SignGate gate{job, kTries};
};

const std::string kGood = login("joe", make_key('a'));
const char* const kUp = "its launcher is up";
const char* const kTooLate = "the end has begun";
const char* const kTooMany = "4 logins to this host have been signed already";

}  // namespace

TEST_CASE("a login under the host's name by one of its keys is signed, a few times", "[sign_gate]") {
  Controller controller;
  for (std::uint32_t i = 0; i < kTries; ++i)
    CHECK(controller.ask(make_host(7, 0), login("joe", make_key(i % 2 == 0 ? 'a' : 'b'))).empty());
  CHECK(controller.ask(make_host(7, 0), login("joe", make_key('a'))) ==
        "4 logins to this host have been signed already");
  CHECK(controller.ask(make_host(8, 0), login("joe", make_key('a'))).empty());
  CHECK(controller.ask(make_host(9, 1), login("ann", make_key('b'))).empty());
}

TEST_CASE("what is refused does not count", "[sign_gate]") {
  Controller controller;
  for (int i = 0; i < 100; ++i) CHECK_FALSE(controller.ask(make_host(7, 0), "").empty());
  for (int i = 0; i < 100; ++i)
    CHECK_FALSE(controller.ask(make_host(7, 0), login("root", make_key('a'))).empty());
  CHECK(controller.ask(make_host(7, 0), login("joe", make_key('a'))).empty());
}

TEST_CASE("other names, other keys and other texts are refused", "[sign_gate]") {
  Controller controller;
  const std::string good = login("joe", make_key('a'));
  for (const char* user : {"", "root", "Joe", "joe ", "joe2", "ann"})
    CHECK(controller.ask(make_host(7, 0), login(user, make_key('a'))) ==
          "it is for another login name than that of the nodelist");
  CHECK(controller.ask(make_host(7, 1), good) == "it is for another login name than that of the nodelist");
  CHECK(controller.ask(make_host(7, 2), login("", make_key('a'))) ==
        "it is for another login name than that of the nodelist");
  CHECK(controller.ask(make_host(7, 0), login("joe", make_key('c'))) ==
        "it is for a key that was not offered");
  CHECK(controller.ask(make_host(7, 1), login("ann", make_key('a'))) ==
        "it is for a key that was not offered");
  CHECK(controller.ask(make_host(7, 3), good) == "it is for a key that was not offered");
  CHECK(controller.ask(make_host(7, 0), good + "x") == "not a login by public key");
  CHECK(controller.ask(make_host(7, 0), std::string(5000, 'x')) == "too long for a login");
}

TEST_CASE("who is up gets no signature, in no run and at no end", "[sign_gate]") {
  Controller controller;
  const Host host = make_host(7, 0);
  CHECK(controller.ask(host, kGood).empty());
  controller.gate.answered(7);
  for (int run = 0; run < 3; ++run) {
    CHECK(controller.ask(host, kGood) == kUp);
    CHECK(controller.ask(host, kGood, true) == kUp);
    controller.gate.begin_run();
  }
  CHECK(controller.ask(make_host(8, 0), kGood).empty());
}

TEST_CASE("after the end has begun only logins to lost launchers are signed", "[sign_gate]") {
  Controller controller;
  const Host host = make_host(7, 0);
  CHECK(controller.ask(host, kGood, true) == kTooLate);
  controller.gate.answered(7);
  controller.gate.lost(7);
  CHECK(controller.ask(host, kGood, true).empty());
  CHECK(controller.ask(host, kGood).empty());
  controller.gate.begin_run();  // another one is started there
  CHECK(controller.ask(host, kGood, true) == kTooLate);
  CHECK(controller.ask(host, kGood).empty());
  controller.gate.answered(7);
  CHECK(controller.ask(host, kGood) == kUp);
}

TEST_CASE("signatures for a host are counted over all runs", "[sign_gate]") {
  Controller controller;
  for (std::uint32_t i = 0; i < kTries; ++i) {
    CHECK(controller.ask(make_host(7, 0), kGood).empty());
    controller.gate.answered(7);
    controller.gate.lost(7);
    controller.gate.begin_run();
  }
  CHECK(controller.ask(make_host(7, 0), kGood) == kTooMany);
  CHECK(controller.ask(make_host(8, 0), kGood).empty());
}

TEST_CASE("a host that has been given up is tried again by the next run, if it has no launcher",
          "[sign_gate]") {
  Controller controller;
  controller.gate.failed({7, {Errc::timed_out, Phase::connect, "no answer"}});
  controller.gate.failed({8, {Errc::no_program, Phase::spawn, "not found"}});
  CHECK(controller.ask(make_host(7, 0), kGood) == "it has been given up");
  CHECK(controller.ask(make_host(8, 0), kGood) == kUp);
  controller.gate.begin_run();
  CHECK(controller.ask(make_host(7, 0), kGood).empty());
  CHECK(controller.ask(make_host(8, 0), kGood) == kUp);
}

TEST_CASE("a root that takes over signs once for each host, to clean up", "[sign_gate]") {
  Controller controller;
  controller.gate.take_over({make_host(7, 0), make_host(8, 0)});
  CHECK(controller.ask(make_host(7, 0), kGood) == kUp);
  controller.gate.lost(7);
  CHECK(controller.ask(make_host(7, 0), kGood).empty());
  CHECK(controller.ask(make_host(7, 0), kGood) == kTooMany);
}

}  // namespace charmtree::sign_gate_test
