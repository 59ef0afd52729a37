// SPDX-License-Identifier: Apache-2.0
// What native clients offer and ask, as the server of their host sees it: processes 4 to 6 of ten.
#include "tree/clients/native_offers.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/unit/native_bench.hpp"

namespace charmtree::native_offers_test {

using namespace charmtree::proto;
namespace native = charmtree::wire::native;

namespace {

constexpr auto kService = static_cast<std::uint8_t>(ClientKind::native);

struct Bench : test::NativeBench {
  using NativeBench::NativeBench;
  /// What each has been told since the last time, by its requests' numbers.
  std::vector<native::Told> told(ClientId client) {
    std::vector<native::Told> all;
    for (const auto& [message, content] : heard(client)) all.push_back(get<native::Told>(message));
    out.clear();
    return all;
  }
  /// What it has been told that it is asked for.
  std::vector<native::Asked> asked(ClientId client) {
    std::vector<native::Asked> all;
    for (const auto& [message, content] : heard(client)) {
      if (const auto* asked = get_if<native::Asked>(&message)) all.push_back(*asked);
    }
    out.clear();
    return all;
  }
  template <class M>
  std::vector<M> sent() {
    return test::only<M>(out);
  }
};

using Told = std::vector<native::Told>;
using Asked = std::vector<native::Asked>;

}  // namespace

TEST_CASE("what a neighbour offers is told at once, and an early ask waits for it", "[native]") {
  Bench b;
  b.says(4, native::Offer{"port", "77"});
  b.says(5, native::Ask{1, 4, "port"});
  CHECK(b.told(5) == Told{{1, "", "77"}});
  b.says(5, native::Ask{2, 6, "port"});
  b.says(4, native::Ask{9, 6, "port"});
  CHECK(b.out.empty());
  b.says(6, native::Offer{"else", "0"});
  CHECK(b.out.empty());
  b.says(6, native::Offer{"port", "78"});
  CHECK(b.heard(5).size() == 1);
  CHECK(b.told(4) == Told{{9, "", "78"}});
  b.says(6, native::Offer{"port", "79"});
  b.says(4, native::Ask{10, 6, "port"});
  CHECK(b.told(4) == Told{{10, "", "79"}});
}

TEST_CASE("a process of another host is asked through the tree, again if nobody answers", "[native]") {
  Bench b;
  b.says(5, native::Ask{7, 9, "port"});
  const auto asked = b.sent<wire::Inquiry>();
  REQUIRE(asked.size() == 1);
  CHECK((asked[0].process == 5 && asked[0].about == 9 && asked[0].key == "port"));
  b.out.clear();
  b.server.tick(Bench::kStart + 4s, b.out);
  CHECK(b.out.empty());
  b.server.tick(b.server.next_deadline(), b.out);
  CHECK(b.sent<wire::Inquiry>().size() == 1);
  b.out.clear();
  b.server.answered({5, 8, asked[0].id, "", "of another"}, b.out);
  CHECK(b.out.empty());
  b.server.answered({5, 9, asked[0].id, "", "77"}, b.out);
  CHECK(b.told(5) == Told{{7, "", "77"}});
  b.server.answered({5, 9, asked[0].id, "", "77"}, b.out);
  CHECK(b.out.empty());
  CHECK(b.server.next_deadline() == kNever);
}

TEST_CASE("an answer that is too long is none", "[native]") {
  Bench b;
  b.says(5, native::Ask{7, 9, "port"});
  const auto id = b.sent<wire::Inquiry>().at(0).id;
  b.out.clear();
  b.server.answered({5, 9, id, "", std::string(wire::kMostGiven + 1, 'x')}, b.out);
  const auto told = b.told(5);
  REQUIRE(told.size() == 1);
  CHECK((!told[0].failure.empty() && told[0].value.empty()));
}

TEST_CASE("another host is answered, once for each time that it asks", "[native]") {
  Bench b;
  const wire::Inquired inquired{5, 9, {kService, 3}, "port"};
  b.server.inquired(inquired, b.out);
  b.server.inquired(inquired, b.out);  // again: it has no answer yet
  CHECK(b.out.empty());
  b.says(5, native::Offer{"port", "77"});
  auto replies = b.sent<wire::InquiryReply>();
  REQUIRE(replies.size() == 1);
  CHECK((replies[0].process == 5 && replies[0].asker == 9 && replies[0].id == inquired.id));
  CHECK((replies[0].failure.empty() && replies[0].bytes == "77"));
  b.out.clear();
  b.server.inquired(inquired, b.out);
  CHECK(b.sent<wire::InquiryReply>().size() == 1);
  b.out.clear();
  b.server.inquired({5, 9, {kService + 1, 3}, "port"}, b.out);  // of another service
  b.server.inquired({9, 4, {kService, 3}, "port"}, b.out);      // of a process that is not here
  b.server.inquired({5, 10, {kService, 3}, "port"}, b.out);     // by one that is not in the job
  CHECK(b.out.empty());
}

TEST_CASE("who asks a lost process hears that, wherever it was", "[native]") {
  Bench b;
  b.says(4, native::Ask{1, 6, "port"});
  b.says(4, native::Ask{2, 9, "port"});
  b.server.inquired({6, 8, {kService, 1}, "port"}, b.out);
  b.out.clear();
  b.server.lost({{6, 9}}, b.out);
  std::set<std::uint32_t> failed;
  for (const auto& [message, content] : b.heard(4)) {
    if (const auto* told = get_if<native::Told>(&message)) failed.insert(told->id);
  }
  CHECK(failed == std::set<std::uint32_t>{1, 2});
  CHECK(b.sent<wire::InquiryReply>().size() == 1);
  b.out.clear();
  b.says(4, native::Ask{3, 9, "port"});
  b.says(4, native::Ask{4, 6, "port"});
  CHECK(b.told(4).size() == 2);
}

TEST_CASE("who has ended offers nothing more, and what it offered stays", "[native]") {
  Bench b;
  b.says(4, native::Offer{"port", "77"});
  b.says(5, native::Ask{1, 4, "else"});
  b.says(4, native::Finalize{0});
  CHECK(b.told(5).at(0).failure == "that process has ended, and did not offer it");
  b.says(5, native::Ask{2, 4, "else"});
  b.says(5, native::Ask{3, 4, "port"});
  const auto told = b.told(5);
  REQUIRE(told.size() == 2);
  CHECK(!told[0].failure.empty());
  CHECK(told[1] == native::Told{3, "", "77"});
}

TEST_CASE("a process that is started again has offered and asked nothing", "[native]") {
  Bench b;
  b.says(4, native::Offer{"port", "77"});
  b.says(4, native::Ask{1, 5, "port"});
  b.says(4, native::Ask{2, 9, "port"});
  b.says(5, native::Ask{3, 4, "else"});
  b.server.vacate(4, 1, true, b.out);
  b.out.clear();
  CHECK(b.server.next_deadline() == kNever);
  b.says(5, native::Offer{"port", "78"});
  b.says(5, native::Ask{4, 4, "port"});
  CHECK(b.out.empty());
  b.server.opened(14, Bench::kStart, b.out);
  b.says(14, native::Hello{native::kVersion, 4, 100, "test"});
  b.out.clear();
  b.says(14, native::Offer{"else", "1"});
  b.says(14, native::Offer{"port", "79"});
  CHECK(b.told(5) == Told{{3, "", "1"}, {4, "", "79"}});
}

TEST_CASE("what a connection offered that never registered is offered no more", "[native]") {
  NativeServer server{{4, 3, 10}, 1};
  ClientOutputs out;
  const auto says = [&](ClientId client, const native::FromClient& message) {
    server.received(client, native::to_frame(message), Bench::kStart, out);
  };
  for (const std::uint32_t client : {4U, 5U}) {
    server.opened(client, Bench::kStart, out);
    says(client, native::Hello{native::kVersion, client, 100, "test"});
  }
  says(4, native::Offer{"port", "77"});
  server.closed(4, Bench::kStart, out);
  out.clear();
  says(5, native::Ask{1, 4, "port"});
  CHECK(out.empty());
}

TEST_CASE("inquiries of two launchers for one process have different numbers", "[native]") {
  std::set<std::uint64_t> numbers;
  for (const std::uint32_t host : {1U, 2U}) {
    ClientOutputs out;
    const LocalProcesses local{4, 3, 10};
    NativeOffers offers{local, host};
    CHECK(offers.ask(4, 4, {1, 9, "port"}, Bench::kStart, out).empty());
    numbers.insert(test::only<wire::Inquiry>(out).at(0).id.number);
  }
  CHECK(numbers.size() == 2);
}

TEST_CASE("a key that nobody can offer is not kept", "[native]") {
  Bench b;
  b.server.inquired({5, 9, {kService, 3}, ""}, b.out);
  b.server.inquired({5, 9, {kService, 4}, std::string(wire::kMostKeyBytes + 1, 'k')}, b.out);
  b.says(5, native::Finalize{0});
  CHECK(b.sent<wire::InquiryReply>().empty());
}

TEST_CASE("very many hosts ask for one value before it is offered", "[native]") {
  constexpr std::uint32_t kHosts = 20'000;
  Bench b{true, 4, kHosts + 10};
  for (std::uint32_t asker = 10; asker < kHosts + 10; ++asker) {
    for (std::uint64_t number = 1; number <= 3; ++number)
      b.server.inquired({5, asker, {kService, number}, "port"}, b.out);
  }
  b.says(5, native::Offer{"port", "77"});
  CHECK(b.sent<wire::InquiryReply>().size() == std::size_t{kHosts} * 3);
}

TEST_CASE("who listens is told who asks it for what, once", "[native]") {
  Bench b;
  b.says(4, native::Ask{1, 5, "port of 4"});
  b.server.inquired({5, 9, {kService, 3}, "port of 9"}, b.out);
  b.says(4, native::Ask{2, 5, "else"});
  b.says(5, native::Offer{"port of all", "77"});
  CHECK(b.out.empty());
  b.says(5, native::Listen{"port"});
  CHECK(b.asked(5) == Asked{{4, "port of 4"}, {9, "port of 9"}});  // what it was asked before
  b.server.inquired({5, 9, {kService, 3}, "port of 9"}, b.out);
  b.says(5, native::Listen{"port"});
  b.says(6, native::Ask{3, 5, "else"});
  b.says(6, native::Ask{5, 5, "port of all"});
  CHECK(b.asked(5).empty());
  b.says(6, native::Ask{4, 5, "port of 6"});
  CHECK(b.asked(5) == Asked{{6, "port of 6"}});
  b.says(5, native::Listen{"port", false});
  b.says(6, native::Ask{6, 5, "port again"});
  CHECK(b.asked(5).empty());
}

TEST_CASE("an answer goes to that asker alone, and is not kept", "[native]") {
  Bench b;
  b.says(5, native::Listen{"p"});
  b.says(4, native::Ask{1, 5, "port"});
  b.says(6, native::Ask{2, 5, "port"});
  const wire::Inquired inquired{5, 9, {kService, 3}, "port"};
  b.server.inquired(inquired, b.out);
  CHECK(b.asked(5) == Asked{{4, "port"}, {6, "port"}, {9, "port"}});
  b.says(5, native::Answer{7, "port", "nobody's"});
  b.says(5, native::Answer{6, "else", "nobody's"});
  CHECK(b.out.empty());
  b.says(5, native::Answer{6, "port", "for 6"});
  CHECK(b.heard(4).empty());
  CHECK(b.told(6) == Told{{2, "", "for 6"}});
  b.says(5, native::Answer{9, "port", "for 9"});
  const auto replies = b.sent<wire::InquiryReply>();
  REQUIRE(replies.size() == 1);
  CHECK((replies[0].asker == 9 && replies[0].bytes == "for 9"));
  b.out.clear();
  b.server.inquired(inquired, b.out);  // the answer was lost
  b.says(6, native::Ask{5, 5, "port"});
  CHECK(b.asked(5) == Asked{{9, "port"}, {6, "port"}});
  b.says(5, native::Offer{"port", "for all"});
  CHECK(b.heard(4).size() == 1);
  CHECK(b.told(6) == Told{{5, "", "for all"}});
}

TEST_CASE("a process that finalizes answers what it listens for, until its connection ends", "[native]") {
  Bench b;
  b.says(5, native::Listen{"port", true});
  b.says(5, native::Ask{1, 6, "mine"});  // is dropped by its end
  b.says(4, native::Ask{1, 5, "port 4"});
  b.says(4, native::Ask{2, 5, "else"});
  b.out.clear();
  b.says(5, native::Finalize{0, 0});
  CHECK(b.told(4) == Told{{2, "that process has ended, and did not offer it", {}}});
  b.says(5, native::Answer{4, "port 4", "77"});
  CHECK(b.told(4) == Told{{1, "", "77"}});
  b.says(6, native::Ask{3, 5, "port 6"});
  CHECK(b.asked(5) == Asked{{6, "port 6"}});
  b.says(6, native::Ask{4, 5, "other"});
  CHECK(b.told(6) == Told{{4, "that process has ended, and did not offer it", {}}});
  b.says(5, native::Offer{"port 6", "78"});
  CHECK(b.told(6) == Told{{3, "", "78"}});
  b.says(6, native::Ask{5, 5, "port 7"});
  b.out.clear();
  b.server.closed(5, Bench::kStart, b.out);
  CHECK(b.told(6) == Told{{5, "that process has ended, and did not offer it", {}}});
}

TEST_CASE("who is asked very much is told more as it answers, or as askers go", "[native]") {
  constexpr std::uint32_t kMost = NativeListeners::kMostTold;
  Bench b{true, 4, kMost * 4 + 10};
  b.says(5, native::Listen{"p"});
  for (std::uint32_t i = 0; i < kMost; ++i) b.says(4, native::Ask{i, 5, "p" + std::to_string(i)});
  for (std::uint32_t asker = 10; asker < 2 * kMost + 10; ++asker)
    b.server.inquired({5, asker, {kService, asker}, "q" + std::to_string(asker + 1000)}, b.out);
  b.says(5, native::Listen{"q"});
  CHECK(b.asked(5).size() == kMost);
  for (std::uint32_t i = 0; i + 1 < kMost / 2; ++i) b.says(5, native::Answer{4, "p" + std::to_string(i), ""});
  CHECK(b.asked(5).empty());
  b.says(5, native::Answer{4, "p" + std::to_string(kMost / 2 - 1), ""});
  CHECK(b.asked(5).size() == kMost / 2);
  b.server.closed(4, Bench::kStart, b.out);
  CHECK(b.asked(5).size() == kMost / 2);
  b.server.lost({{10, 9 + kMost}}, b.out);  // all that it is told of
  const Asked rest = b.asked(5);
  CHECK(rest.size() == kMost);
  CHECK(rest.front() == native::Asked{10 + kMost, "q" + std::to_string(1010 + kMost)});
}

TEST_CASE("what a process listens for no more is told again when it listens again", "[native]") {
  Bench b;
  b.says(5, native::Listen{"p"});
  b.says(5, native::Listen{"port"});
  b.says(4, native::Ask{1, 5, "port"});
  b.says(4, native::Ask{2, 5, "path"});
  CHECK(b.asked(5).size() == 2);
  b.says(5, native::Listen{"p", false});
  b.says(5, native::Listen{"p"});
  CHECK(b.asked(5) == Asked{{4, "path"}});
}

TEST_CASE("a process that is started again listens anew", "[native]") {
  Bench b;
  b.says(4, native::Listen{"p"});
  b.says(5, native::Ask{1, 4, "port"});
  CHECK(b.asked(4) == Asked{{5, "port"}});
  b.server.vacate(4, 1, true, b.out);
  b.server.opened(14, Bench::kStart, b.out);
  b.says(14, native::Hello{native::kVersion, 4, 100, "test"});
  b.out.clear();
  b.says(6, native::Ask{2, 4, "port"});
  CHECK(b.out.empty());
  b.says(14, native::Listen{"p"});
  CHECK(b.asked(14) == Asked{{5, "port"}, {6, "port"}});
}

TEST_CASE("nobody listens for very much", "[native]") {
  Bench b;
  for (std::size_t i = 0; i < native::kMostListeners; ++i) b.says(4, native::Listen{std::to_string(i)});
  b.says(4, native::Listen{"1"});
  CHECK_FALSE(b.is_closed(4));
  b.says(4, native::Listen{"one more"});
  CHECK(b.is_closed(4));
}

TEST_CASE("offers and asks have their limits", "[native]") {
  const std::string value(wire::kMostGiven / 2, 'v');
  Bench b;
  for (std::size_t i = 0; i * (value.size() + 8) < NativeOffers::kMostBytes; ++i)
    b.says(4, native::Offer{std::to_string(i), value});
  CHECK(b.is_closed(4));
  for (std::size_t i = 0; i <= NativeOffers::kMostKeys; ++i) b.says(5, native::Offer{std::to_string(i), ""});
  CHECK(b.is_closed(5));
  b.out.clear();
  for (std::uint32_t i = 0; i <= NativeOffers::kMostAsks; ++i) b.says(6, native::Ask{i, 9, "port"});
  CHECK(b.is_closed(6));
  Bench other;
  other.says(4, native::Ask{1, 10, "port"});
  CHECK(other.is_closed(4));
  Bench offered_again;
  for (std::size_t i = 0; i < 1000; ++i) offered_again.says(4, native::Offer{"same", value});
  CHECK_FALSE(offered_again.is_closed(4));
}

TEST_CASE("the host's topology is found out once, for all who ask", "[native]") {
  Bench b;
  b.says(4, native::TopologyWanted{});
  b.says(5, native::TopologyWanted{});
  CHECK(b.sent<TopologyWanted>().size() == 1);
  b.out.clear();
  const auto xml = std::make_shared<const std::string>("<topology/>");
  b.server.topology("file", xml, b.out);
  b.says(6, native::TopologyWanted{});
  CHECK(b.sent<TopologyWanted>().empty());
  for (ClientId client = 4; client < 7; ++client) {
    const auto heard = b.heard(client);
    REQUIRE(heard.size() == 1);
    CHECK(get<native::Topology>(heard[0].first).is_there);
    CHECK(heard[0].second == *xml);
  }
  Bench without;
  without.says(4, native::TopologyWanted{});
  without.out.clear();
  without.server.topology("", nullptr, without.out);
  const auto heard = without.heard(4);
  REQUIRE(heard.size() == 1);
  CHECK_FALSE(get<native::Topology>(heard[0].first).is_there);
}

}  // namespace charmtree::native_offers_test
