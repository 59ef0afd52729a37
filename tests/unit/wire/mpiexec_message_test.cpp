// SPDX-License-Identifier: Apache-2.0
#include "tree/wire/mpiexec_message.hpp"

#include <catch2/catch.hpp>

namespace charmtree::mpiexec_message_test {

using namespace charmtree::wire;

namespace {

Ticket some_ticket() {
  std::string secret;
  for (std::size_t i = 0; i < Ticket::kSecret; ++i) secret.push_back(static_cast<char>(i * 8));
  return {"1.2", secret, 8, 60s, "/home/it's me\n/charmrun.1", {"10.0.0.1:4000", "192.168.1.1:4000"}};
}

Frame only_frame(FrameDecoder& decoder, const std::string& bytes) {
  decoder.append(bytes);
  auto frame = decoder.next();
  REQUIRE(frame.ok());
  REQUIRE(frame->has_value());
  return **frame;
}

}  // namespace

TEST_CASE("a ticket is one line that a shell passes on as it is", "[mpiexec]") {
  const Ticket ticket = some_ticket();
  const std::string line = to_line(ticket);
  CHECK(line.find_first_not_of("0123456789abcdef") == std::string::npos);
  const auto read = ticket_of(line, "1.2");
  REQUIRE(read.ok());
  CHECK(*read == ticket);
}

TEST_CASE("what is no ticket, or one of another version, is refused", "[mpiexec]") {
  const std::string line = to_line(some_ticket());
  CHECK(ticket_of(line, "1.3").error().code == Errc::wrong_version);
  for (std::size_t size = 0; size < line.size(); ++size) CHECK_FALSE(ticket_of(line.substr(0, size), "1.2"));
  CHECK_FALSE(ticket_of(line + "00", "1.2"));
  CHECK_FALSE(ticket_of("hello", "1.2"));
  Ticket short_secret = some_ticket();
  short_secret.secret.pop_back();
  CHECK_FALSE(ticket_of(to_line(short_secret), "1.2"));
  Ticket many = some_ticket();
  many.places.assign(Ticket::kMostPlaces + 1, "10.0.0.1:1");
  CHECK_FALSE(ticket_of(to_line(many), "1.2"));
  CHECK_FALSE(ticket_of(std::string(Ticket::kMostBytes + 2, '0'), "1.2"));
}

TEST_CASE("reports keep their fields; texts are cut so that they fit their frame", "[mpiexec]") {
  FrameDecoder decoder{kMaxRankReport};
  const RankReport report{"h03", 5, 8, ""};
  const auto read = decode_rank_report(only_frame(decoder, to_frame(report)));
  REQUIRE(read.ok());
  CHECK(*read == report);
  const RankReport longest{std::string(5000, 'h'), UINT32_MAX, UINT32_MAX, std::string(5000, 't')};
  const auto cut = decode_rank_report(only_frame(decoder, to_frame(longest)));
  REQUIRE(cut.ok());
  CHECK(cut->host.size() == RankReport::kMostText);
  CHECK(cut->trouble.size() == RankReport::kMostText);
}

TEST_CASE("each side takes only what the other one may say", "[mpiexec]") {
  FrameDecoder decoder{kMaxRankReport};
  const Frame begin = only_frame(decoder, begin_frame());
  CHECK(is_begin(begin));
  CHECK_FALSE(decode_rank_report(begin).ok());
  const std::string report = to_frame({"h", 0, 1, ""});
  CHECK_FALSE(is_begin(only_frame(decoder, report)));
  CHECK_FALSE(decode_rank_report({1, std::string_view{report}.substr(kFrameHeader, 3)}).ok());
  CHECK_FALSE(is_begin({65, "x"}));
  for (const char* host : {"error: h", "h\n", "h\x1b[A"})
    CHECK_FALSE(decode_rank_report(only_frame(decoder, to_frame({host, 0, 1, ""}))).ok());
}

}  // namespace charmtree::mpiexec_message_test
