// SPDX-License-Identifier: Apache-2.0
#include "ccs/conversation.hpp"

#include <catch2/catch.hpp>
#include <set>

#include "tests/unit/charm_capture.hpp"
#include "tree/wire/big_endian.hpp"

namespace charmtree::ccs_conversation_test {

using namespace charmtree::ccs;
using charm_capture::hex;

namespace {

const Key kKey{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
constexpr std::uint32_t kPes = 8;
using Step = std::optional<std::variant<Asked, Unfit, Wrong, Reply>>;

std::string number(std::uint32_t value) {
  std::string bytes;
  wire::write_u32(bytes, value);
  return bytes;
}

Keys keys(std::uint8_t level) {
  Keys keys;
  keys.set(level, {Key{}, kKey});
  return keys;
}

std::string request(std::string handler = "ping", const std::string& data = "data") {
  handler.resize(32, '\0');
  return number(static_cast<std::uint32_t>(data.size())) + number(5) + handler + data;
}

struct Guest {
  std::uint32_t number, salt;
};

/// A stock client of level 3 that has the key, until it is a guest.
Guest become_guest(Guard& guard) {
  Conversation conversation;
  conversation.append(hex("80000103 00001111"));
  auto step = conversation.next(guard, 0);
  const auto salt = get<Reply>(*step);
  REQUIRE((salt.bytes.size() == 4 && !salt.last));
  CHECK_FALSE(conversation.next(guard, 0));
  conversation.append(stock_hash(kKey, wire::read_u32(salt.bytes, 0)));
  step = conversation.next(guard, 0);
  const auto welcome = get<Reply>(*step);
  REQUIRE((welcome.bytes.size() == 28 && welcome.last));
  CHECK(welcome.bytes.substr(0, 20) == stock_hash(kKey, 0x1111));
  return {wire::read_u32(welcome.bytes, 20), wire::read_u32(welcome.bytes, 24)};
}

std::string signed_request(const Guest& guest, const std::string& request, const Key& key = kKey) {
  return hex("80000003") + number(guest.number) + hex("00002222") + stock_hash(key, guest.salt, request) +
         request;
}

/// What follows from these bytes.
Step hears(Guard& guard, const std::string& bytes) {
  Conversation conversation;
  conversation.append(bytes);
  return conversation.next(guard, kPes);
}

std::string why_wrong(Guard& guard, const std::string& bytes) {
  const auto step = hears(guard, bytes);
  const auto* wrong = step ? get_if<Wrong>(&*step) : nullptr;
  return wrong == nullptr ? "" : wrong->why + (wrong->prefix ? " (empty reply)" : "");
}

}  // namespace

TEST_CASE("the hash of stock clients is SHA-1 of 52 bytes") {
  // printed by the test driver of Charm++'s ccs-auth.C
  const std::string hash = stock_hash(Key{1}, 0);
  CHECK(hash == hex("f9693b3ae7791c4ace70ce31e4c2213f21ce900a"));
}

TEST_CASE("a stock client that has the key becomes a guest, and each of its requests is good once") {
  Guard guard{keys(3), {}};
  Guest guest = become_guest(guard);
  const std::string bytes = signed_request(guest, request());
  auto step = hears(guard, bytes);
  REQUIRE(step);
  const auto& asked = get<Asked>(*step);
  CHECK((asked.request.handler == "ping" && asked.request.pe == 5 && asked.request.data == "data"));
  CHECK((asked.signature.is_signed && asked.signature.level == 3 && asked.signature.reply_salt == 0x2222));
  CHECK(asked.before_reply == stock_hash(kKey, 0x2222));
  CHECK(why_wrong(guard, bytes) == "signed a request wrongly, or again");
  ++guest.salt;
  CHECK(holds_alternative<Asked>(*hears(guard, signed_request(guest, request()))));
  CHECK(become_guest(guard).number != guest.number);
}

TEST_CASE("a client becomes a guest whatever byte its hash begins with") {
  Guard guard{keys(3), {}};
  std::set<char> firsts;
  for (int i = 0; i < 4096; ++i) {
    Conversation conversation;
    conversation.append(hex("8000010300001111"));
    const Reply salt = get<Reply>(*conversation.next(guard, 4));
    const std::string hash = stock_hash(kKey, wire::read_u32(salt.bytes, 0));
    firsts.insert(hash[0]);
    conversation.append(hash);
    const auto welcome = conversation.next(guard, 4);
    REQUIRE(welcome);
    CHECK(get<Reply>(*welcome).last);
  }
  CHECK(firsts.size() == 256);
}

TEST_CASE("who shows no key, a wrong one, or that of another level gets no reply at all") {
  Guard guard{keys(3), {}};
  const Guest guest = become_guest(guard);
  CHECK(why_wrong(guard, signed_request(guest, request(), Key{9})) == "signed a request wrongly, or again");
  CHECK(why_wrong(guard, signed_request({guest.number + 1, guest.salt}, request())) ==
        "signed a request wrongly, or again");
  std::string forged = signed_request(guest, request());
  forged[35] = '\x9';  // the length
  CHECK(why_wrong(guard, forged) == "signed a request wrongly, or again");
  CHECK(why_wrong(guard, hex("80000100 00001111")) == "asked for level 0, which has no key");
  CHECK(why_wrong(guard, hex("80010003")) == "shows its key in an unknown way");
  CHECK(why_wrong(guard, hex("80000203")) == "shows its key in an unknown way");
  CHECK(why_wrong(guard, hex("800000ff")) == "asked for level 255, which has no key");
  CHECK(holds_alternative<Asked>(*hears(guard, signed_request(guest, request()))));
  CHECK(holds_alternative<Asked>(*hears(guard, request())));  // level 0 has no key

  Conversation conversation;
  conversation.append(hex("80000103 00001111"));
  CHECK(conversation.next(guard, kPes));
  conversation.append(std::string(20, 'x'));
  const auto step = conversation.next(guard, kPes);
  CHECK_FALSE(get<Wrong>(*step).prefix);
}

TEST_CASE("with a key for level 0, requests without a key are refused without a reply") {
  Guard guard{keys(0), {}};
  CHECK(why_wrong(guard, std::string(1, '\0')) == "has no key");
}

TEST_CASE("a guest's request that cannot be right has a signed empty reply") {
  Guard guard{keys(3), {}};
  std::string bytes = request();
  bytes[7] = 8;  // the PE
  const auto step = hears(guard, signed_request(become_guest(guard), bytes));
  CHECK(get<Wrong>(*step).prefix == stock_hash(kKey, 0x2222));
}

TEST_CASE("the oldest of too many guests has to show its key again") {
  Guard guard{keys(3), {}};
  const auto [number, first] = guard.admit(3, kKey);
  for (std::size_t i = 1; i < Guard::kMaxGuests; ++i) guard.admit(3, kKey);
  CHECK(guard.recognize(number, 3, "", stock_hash(kKey, first.salt)));
  guard.admit(3, kKey);
  CHECK_FALSE(guard.recognize(number, 3, "", stock_hash(kKey, first.salt + 1)));
}

TEST_CASE("salts cannot be foreseen without the secret") {
  Guard one{{}, {1}}, same{{}, {1}}, other{{}, {2}};
  const std::uint32_t drawn = one.draw();
  CHECK(drawn == same.draw());
  CHECK(drawn != other.draw());
  CHECK(drawn != one.draw());
}

}  // namespace charmtree::ccs_conversation_test
