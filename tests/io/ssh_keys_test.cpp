// SPDX-License-Identifier: Apache-2.0
// Key files of all kinds, whole and damaged, and the order in which keys are tried.
#include <catch2/catch.hpp>

#include <sys/stat.h>

#include "tests/io/ssh_fixture.hpp"
#include "tree/io/ssh/ssh_keys.hpp"
#include "tree/io/ssh/ssh_libraries.hpp"
#include "tree/io/ssh/ssh_wire.hpp"
#include "tree/wire/userauth.hpp"

namespace charmtree::ssh_keys_test {

using namespace charmtree::io;
using namespace charmtree::io::test;

using State = KeyFile::State;

TEST_CASE("key files are judged by their kind", "[ssh]") {
  SshKeys keys("/nonexistent");
  for (const char* which : {"ed25519", "ecdsa", "rsa"}) {
    const auto key = keys.load(key_path(which));
    CHECK(key->state == State::usable);
    CHECK(key->blob == public_key(which).blob);
    CHECK(key->type == public_key(which).type);
    CHECK((key->opened != nullptr) == (std::string(which) != "ecdsa"));
  }
  const auto locked = keys.load(key_path("ed25519-passphrase"));
  CHECK(locked->state == State::passphrase);
  CHECK(locked->blob == public_key("ed25519-passphrase").blob);
  CHECK(keys.load("/nonexistent/key")->state == State::missing);
  CHECK(keys.load("/dev/null")->state == State::missing);
  CHECK(keys.load("/tmp")->state == State::missing);
}

TEST_CASE("a PEM key logs in, its protected twin is set aside", "[ssh]") {
  const TempDir directory;
  const std::string plain = directory.path("plain"), locked = directory.path("locked");
  REQUIRE(run({"ssh-keygen", "-q", "-m", "PEM", "-t", "ecdsa", "-N", "", "-f", plain}) == 0);
  REQUIRE(run({"ssh-keygen", "-q", "-m", "PEM", "-t", "ecdsa", "-N", "secret", "-f", locked}) == 0);
  REQUIRE(read_text(plain).starts_with("-----BEGIN EC PRIVATE KEY-----"));
  SshKeys keys("/nonexistent");
  CHECK(keys.load(plain)->state == State::usable);
  CHECK(keys.load(plain)->type == "ecdsa-sha2-nistp256");
  CHECK(keys.load(locked)->state == State::passphrase);

  SshdSetup setup;
  setup.extra = "AuthorizedKeysFile " + plain + ".pub";
  const Sshd sshd(setup);
  Bench bench;
  Profile profile = sshd.profile();
  profile.identity_files = {plain};
  CHECK(bench.login(sshd.host(), profile).link);
}

namespace {

std::string request_by(const KeyFile& key, const std::string& algorithm) {
  return encode(wire::UserauthRequest{std::string(wire::kMostSession, 's'), "joe", algorithm, key.blob});
}

/// Whether OpenSSL's own command takes it for what the key has signed with that digest.
bool verifies(const std::string& which, const std::string& digest, const std::string& data,
              const std::string& signature) {
  const TempDir directory;
  const std::string pem = directory.path("pem"), public_file = key_path(which) + ".pub";
  REQUIRE(run({"sh", "-c", "ssh-keygen -e -m PKCS8 -f '" + public_file + "' > '" + pem + "'"}) == 0);
  return run({"openssl", "dgst", "-" + digest, "-verify", pem, "-signature",
              directory.write("signature", signature), directory.write("data", data)}) == 0;
}

}  // namespace

TEST_CASE("an RSA key signs with SHA-2, whatever format its file has, and never with SHA-1", "[ssh]") {
  const TempDir directory;
  const std::string pem = directory.path("pem");
  REQUIRE(run({"cp", key_path("rsa"), pem}) == 0);
  REQUIRE(run({"ssh-keygen", "-q", "-p", "-m", "PEM", "-N", "", "-f", pem}) == 0);
  REQUIRE(read_text(pem).starts_with("-----BEGIN RSA PRIVATE KEY-----"));
  SshKeys keys("/nonexistent");
  for (const std::string& path : {key_path("rsa"), pem}) {
    const auto key = keys.load(path);
    REQUIRE(key->opened);
    CHECK(key->type == "ssh-rsa");
    CHECK(key->blob == public_key("rsa").blob);  // of a PEM file without a file of the public part
    const std::string by256 = request_by(*key, "rsa-sha2-256"), by512 = request_by(*key, "rsa-sha2-512");
    CHECK(verifies("rsa", "sha256", by256, sign(key->opened, by256)));
    CHECK(verifies("rsa", "sha512", by512, sign(key->opened, by512)));
    CHECK_FALSE(verifies("rsa", "sha512", by512, sign(key->opened, by256)));
    CHECK(sign(key->opened, request_by(*key, "ssh-rsa")).empty());
    CHECK(sign(key->opened, "anything else").empty());
  }
}

TEST_CASE("a key that others can read is not used, as with ssh", "[ssh]") {
  const TempDir directory;
  const std::string path = directory.write("key", read_text(key_path("ed25519")));
  REQUIRE(chmod(path.c_str(), 0644) == 0);
  SshKeys keys("/nonexistent");
  Profile profile;
  profile.identity_files = {path};
  CHECK(keys.load(path)->state == State::open_to_others);
  CHECK(keys.to_try(profile, {}).empty());
  CHECK(keys.complaint(profile) == path + " can be read by others, so ssh does not use it");
}

namespace {
constexpr std::size_t kBegin = std::string_view("-----BEGIN OPENSSH PRIVATE KEY-----\n").size();
}

TEST_CASE("damaged key files are not used and do no harm", "[ssh]") {
  const TempDir directory;
  for (const char* which : {"ed25519", "rsa"}) {
    const std::string good = read_text(key_path(which));
    for (std::size_t cut = 0; cut + 2 < good.size(); cut += 7) {
      const std::string name = which + std::to_string(cut);
      SshKeys keys("/nonexistent");
      CHECK(keys.load(directory.write(name, good.substr(0, cut)))->opened == nullptr);
    }
    for (std::size_t place = kBegin; place < good.size();
         place += 41) {  // whatever it is now, it is read to no harm
      std::string other = good;
      other[place] = other[place] == 'A' ? 'B' : 'A';
      SshKeys keys("/nonexistent");
      const auto key = keys.load(directory.write(which + std::to_string(place) + "changed", other));
      if (key->opened) sign(key->opened, request_by(*key, "rsa-sha2-256"));
    }
  }
  const std::string begin = "-----BEGIN OPENSSH PRIVATE KEY-----\n",
                    end = "\n-----END OPENSSH PRIVATE KEY-----\n";
  std::string bytes("openssh-key-v1\0", 15);
  append_string(bytes, "none");
  append_u32(bytes, 0xFFFFFFFF);
  SshKeys keys("/nonexistent");
  CHECK(keys.load(directory.write("long", begin + encode_base64(bytes) + end))->state == State::unsupported);
  CHECK(keys.load(directory.write("text", "-----BEGIN RSA PRIVATE KEY-----\n!"))->state ==
        State::unsupported);
  CHECK(keys.load(directory.write("huge", std::string(kMaxKeyFileBytes + 1, '-')))->state ==
        State::unsupported);
}

TEST_CASE("keys are tried in ssh's order, RSA last", "[ssh]") {
  SshKeys keys("/nonexistent");
  Profile profile;
  profile.identity_files = {key_path("rsa"), key_path("ed25519"), key_path("ecdsa")};
  const std::vector<std::string> agent = {public_key("ed25519-2").blob, public_key("host_rsa").blob,
                                          public_key("ecdsa").blob};
  const auto order = keys.to_try(profile, agent);
  std::vector<std::string> found;
  for (const KeyToTry& key : order) found.push_back(key.public_blob());
  std::vector<std::string> wanted = {"ecdsa", "ed25519-2", "ed25519",
                                     "rsa"};  // named and in the agent, in the agent, files
  if (libssh2_has_sha2_and_gcm()) wanted = {"ecdsa", "ed25519-2", "ed25519", "rsa", "host_rsa"};
  for (std::string& name : wanted) name = public_key(name).blob;
  CHECK(found == wanted);
  CHECK(keys.wants_agent(profile));
  profile.identities_only = true;
  CHECK(keys.to_try(profile, agent).size() == 3);  // without what only the agent has
  CHECK_FALSE(keys.wants_agent(profile));
  profile.identities_only = false;
  CHECK(keys.to_try(profile, std::vector<std::string>(40, public_key("ed25519-2").blob)).size() ==
        kMaxKeysTried);
}

TEST_CASE("base64 is read strictly", "[ssh]") {
  CHECK(decode_base64("AAEC") == std::string("\0\1\2", 3));
  CHECK(decode_base64("AAE=") == std::string("\0\1", 2));
  CHECK(decode_base64(encode_base64("x")) == "x");
  for (const char* wrong : {"", "A", "AAA", "AA C", "AAA\n", "A!AA", "===="}) {
    INFO(wrong);
    CHECK_FALSE(decode_base64(wrong).has_value());
  }
  CHECK(key_type(std::string("\0\0\0\3abc", 7)) == "abc");
  CHECK(key_type(std::string("\0\0\0\4abc", 7)).empty());
  CHECK(key_type(std::string("\0\0\0\3a\nc", 7)).empty());
}

}  // namespace charmtree::ssh_keys_test
