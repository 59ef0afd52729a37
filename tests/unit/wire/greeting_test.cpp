// SPDX-License-Identifier: Apache-2.0
#include "tree/wire/greeting.hpp"

#include <catch2/catch.hpp>

#include "tree/wire/message_limits.hpp"

namespace charmtree::greeting_test {

using namespace charmtree::wire;

namespace {

/// All messages that are there. An error is put into `error`.
std::vector<Message> take_all(LinkReader& reader, std::optional<Error>& error) {
  std::vector<Message> messages;
  for (;;) {
    auto message = reader.next();
    if (!message) error = message.error();
    if (!message || !message->has_value()) return messages;
    messages.push_back(std::move(**message));
  }
}

const std::string kStream =
    encode_frames(Hello{Instant{5s}, 7}).value() + encode_frames(Note{3, "hi"}).value();

}  // namespace

TEST_CASE("chatter before the greeting is skipped and kept, however the bytes are cut", "[greeting]") {
  const std::string chatter = "Welcome to n1!\n@charmtree-launch almost\nlast login: @charmtree-";
  const std::string bytes = chatter + make_greeting() + kStream;
  for (const std::size_t piece : {std::size_t{1}, std::size_t{2}, std::size_t{7}, bytes.size()}) {
    LinkReader reader{LinkReader::From::child, kCoreTypes};
    std::optional<Error> error;
    std::vector<Message> messages;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      REQUIRE(reader.append(std::string_view{bytes}.substr(at, piece)).ok());
      for (Message& message : take_all(reader, error)) messages.push_back(std::move(message));
    }
    CHECK(reader.greeted());
    CHECK(reader.chatter() == chatter);
    CHECK_FALSE(error);
    REQUIRE(messages.size() == 2);
    CHECK(get<Hello>(messages[0]).pid == 7);
    CHECK(get<Note>(messages[1]).text == "hi");
  }
}

TEST_CASE("nothing is a message before the greeting", "[greeting]") {
  LinkReader reader{LinkReader::From::child, kCoreTypes};
  REQUIRE(reader.append(kStream).ok());
  CHECK_FALSE(reader.greeted());
  std::optional<Error> error;
  CHECK(take_all(reader, error).empty());
  CHECK_FALSE(error);
}

TEST_CASE("a parent does not greet", "[greeting]") {
  LinkReader reader{LinkReader::From::parent, kCoreTypes};
  CHECK(reader.greeted());
  REQUIRE(reader.append(encode_frames(Release{1}).value()).ok());
  std::optional<Error> error;
  CHECK(take_all(reader, error).size() == 1);
}

TEST_CASE("a shell in the place of a launcher says what it needs, before the launcher greets", "[greeting]") {
  const std::string said = "Welcome!\n@charmtree-stage ask\n";
  for (const std::size_t piece : {std::size_t{1}, std::size_t{10}, said.size()}) {
    LinkReader reader{LinkReader::From::child, kCoreTypes};
    for (std::size_t at = 0; at < said.size(); at += piece) {
      CHECK_FALSE(reader.take_stage_request());
      REQUIRE(reader.append(std::string_view{said}.substr(at, piece)).ok());
    }
    const auto asked = reader.take_stage_request();
    REQUIRE(asked);
    CHECK((asked->word == StageWord::ask && asked->machine.empty()));
    REQUIRE(reader.append("@charmtree-stage send x86_64\n").ok());
    const auto wanted = reader.take_stage_request();
    REQUIRE(wanted);
    CHECK((wanted->word == StageWord::send && wanted->machine == "x86_64"));
    REQUIRE(reader.append("@charmtree-stage jump\n").ok());
    CHECK_FALSE(reader.take_stage_request());
    REQUIRE(reader.append(make_greeting()).ok());
    CHECK(reader.greeted());
    CHECK(reader.chatter() == "Welcome!\n");
  }
}

TEST_CASE("another version is named", "[greeting]") {
  LinkReader reader{LinkReader::From::child, kCoreTypes};
  const auto result = reader.append("@charmtree-launcher 0.0.1 (protocol 0)\n");
  REQUIRE_FALSE(result.ok());
  CHECK(result.error().code == Errc::wrong_version);
  CHECK(result.error().what.find("0.0.1 (protocol 0)") != std::string::npos);
  CHECK_FALSE(reader.greeted());
}

TEST_CASE("chatter and the greeting's line are bounded", "[greeting]") {
  LinkReader noisy{LinkReader::From::child, kCoreTypes};
  REQUIRE(noisy.append(std::string(kMaxChatter, 'x')).ok());
  const auto result = noisy.append("x");
  REQUIRE_FALSE(result.ok());
  CHECK(result.error().code == Errc::bad_peer);

  LinkReader endless{LinkReader::From::child, kCoreTypes};
  REQUIRE(endless.append("@charmtree-launcher ").ok());
  CHECK_FALSE(endless.append(std::string(200, '1')).ok());
}

TEST_CASE("a message from the wrong side is an error for ever", "[greeting]") {
  for (const auto from : {LinkReader::From::child, LinkReader::From::parent}) {
    LinkReader reader{from, kCoreTypes};
    (void)reader.append(from == LinkReader::From::child ? make_greeting() + encode_frames(End{}).value()
                                                        : encode_frames(Done{}).value());
    for (int i = 0; i < 2; ++i) {
      std::optional<Error> error;
      CHECK(take_all(reader, error).empty());
      if (i == 0) REQUIRE(error);
    }
  }
}

TEST_CASE("a frame that is too long for its type is refused when its header is there", "[greeting]") {
  const auto is_refused = [](const Message& type, std::size_t payload, const Remit& remit) {
    LinkReader reader{LinkReader::From::child, kCoreTypes};
    REQUIRE(
        reader.append(make_greeting() + make_frame_header(static_cast<std::uint8_t>(type.number()), payload))
            .ok());
    return !reader.next(remit).ok();
  };
  CHECK_FALSE(is_refused(Note{}, kMaxSaid, {}));
  CHECK(is_refused(Note{}, kMaxSaid + 1, {}));
  CHECK_FALSE(is_refused(Output{}, kMaxPiece, {}));
  CHECK(is_refused(Output{}, kMaxPiece + 1, {}));
  // The more a child speaks for, the more it has to say.
  CHECK(is_refused(Facts{}, kMaxList + 3 * kMaxTuple, {1, 2}));
  CHECK_FALSE(is_refused(Facts{}, kMaxList + 3 * kMaxTuple, {1, 3}));
  CHECK(is_refused(End{}, 10, {}));  // of the wrong side
}

TEST_CASE("a list of more than its sender may speak for is no message", "[greeting]") {
  Facts many;
  many.hosts_up.resize(3000);
  const std::string stream = make_greeting() + encode_frames(many).value();
  for (const bool may : {false, true}) {
    LinkReader reader{LinkReader::From::child, kCoreTypes};
    REQUIRE(reader.append(stream).ok());
    CHECK(reader.next(may ? Remit{500, 500} : Remit{400, 400}).ok() == may);
  }
}

TEST_CASE("frames that break a rule are an error for ever: version, size, type, payload", "[greeting]") {
  std::string version = encode_frames(Hello{}).value(), payload = encode_frames(Hello{}).value();
  version[4] = 9;
  payload[0] = 3;  // length: one byte of payload
  const std::string size{"\xff\xff\xff\xff\x01\x00", 6};
  for (const std::string& bad :
       {version, size, make_frame(200, "x"), payload, make_frame(11, "\xff\xff\xff")}) {
    LinkReader reader{LinkReader::From::child, kCoreTypes};
    REQUIRE(reader.append(make_greeting() + bad + kStream).ok());
    std::optional<Error> error;
    CHECK(take_all(reader, error).empty());
    REQUIRE(error);
    CHECK(error->code == Errc::bad_peer);
  }
}

}  // namespace charmtree::greeting_test
