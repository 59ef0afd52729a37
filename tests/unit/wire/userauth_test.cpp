// SPDX-License-Identifier: Apache-2.0
// What may be signed for a login, and the many things that look like it.
#include "tree/wire/userauth.hpp"

#include <catch2/catch.hpp>

#include "tree/base/random.hpp"
#include "tree/wire/ssh_blob.hpp"

namespace charmtree::userauth_test {

using namespace charmtree::wire;

namespace {

std::string make_key(const std::string& type) {
  std::string blob;
  append_string(blob, type);
  append_string(blob, std::string(32, 'k'));
  return blob;
}

UserauthRequest request() {
  return {std::string(32, '\x80'), "joe", "ssh-ed25519", make_key("ssh-ed25519")};
}

/// As RFC 4252 §7 writes it down, with every field open to change.
struct Fields {
  std::string session = request().session;
  std::string message = "\x32";
  std::string user = "joe", service = "ssh-connection", method = "publickey";
  std::string has_signature = "\x01";
  std::string algorithm = "ssh-ed25519", key = request().key, behind;

  std::string data() const {
    std::string out;
    append_string(out, session);
    out += message;
    for (const auto& text : {user, service, method}) append_string(out, text);
    out += has_signature;
    append_string(out, algorithm);
    append_string(out, key);
    return out + behind;
  }
};

}  // namespace

TEST_CASE("a login by public key is read", "[userauth]") {
  const auto parsed = parse_userauth_request(Fields{}.data());
  REQUIRE(parsed);
  CHECK(*parsed == request());
  CHECK(encode(*parsed) == Fields{}.data());
  for (const std::size_t size : {20U, 32U, 48U, 64U})
    CHECK(parse_userauth_request(Fields{.session = std::string(size, 's')}.data()).ok());
  for (const char* algorithm : {"rsa-sha2-256", "rsa-sha2-512"})
    CHECK(parse_userauth_request(Fields{.algorithm = algorithm, .key = make_key("ssh-rsa")}.data()).ok());
}

TEST_CASE("whatever is not exactly a login by public key is refused", "[userauth]") {
  const std::vector<Fields> bad = {
      {.session = ""},
      {.session = std::string(19, 's')},
      {.session = std::string(65, 's')},
      {.message = "\x33"},
      {.message = ""},
      {.service = "ssh-userauth"},
      {.service = "ssh-connection2"},
      {.method = "hostbased"},
      {.method = "password"},
      {.method = "publickey-hostbound-v00@openssh.com"},
      {.has_signature = std::string(1, '\0')},
      {.has_signature = "\x02"},
      {.has_signature = ""},
      {.algorithm = "ssh-rsa"},
      {.algorithm = "ssh-rsa", .key = make_key("ssh-rsa")},  // SHA-1
      {.algorithm = "rsa-sha2-256"},
      {.algorithm = "rsa-sha2-1024", .key = make_key("ssh-rsa")},
      {.algorithm = "", .key = ""},
      {.key = "no blob"},
      {.behind = std::string(1, '\0')},
      {.behind = Fields{}.data()},
      {.user = std::string(kMaxUserauthRequest, 'u')},
  };
  for (std::size_t i = 0; i < bad.size(); ++i) {
    CAPTURE(i);
    const auto parsed = parse_userauth_request(bad[i].data());
    REQUIRE_FALSE(parsed.ok());
    CHECK(parsed.error().code == Errc::bad_peer);
  }
}

TEST_CASE("other things that keys sign are refused", "[userauth]") {
  std::string file = "SSHSIG";  // ssh-keygen -Y sign
  for (const char* text : {"git", "", "sha512"}) append_string(file, text);
  for (const std::string& data : {std::string{}, std::string(32, 'x'), file, std::string(4, '\xff'),
                                  std::string(kMaxUserauthRequest + 1, '\0')})
    CHECK_FALSE(parse_userauth_request(data).ok());
}

TEST_CASE("every part of a login, and every login with one byte changed, is another login or none",
          "[userauth]") {
  const std::string whole = Fields{}.data();
  for (std::size_t size = 0; size < whole.size(); ++size)
    CHECK_FALSE(parse_userauth_request(std::string_view{whole}.substr(0, size)).ok());
  Random random{5};
  std::size_t taken = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string data = whole;
    data[random.below(data.size())] ^= static_cast<char>(1 + random.below(255));
    const auto parsed = parse_userauth_request(data);
    if (!parsed) continue;
    ++taken;
    if (*parsed == request() || encode(*parsed) != data) FAIL("changed bytes went unnoticed");
  }
  CHECK(taken > 1000);  // in the session, the name, the key itself
}

}  // namespace charmtree::userauth_test
