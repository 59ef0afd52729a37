// SPDX-License-Identifier: Apache-2.0
#include "kvs/inquiries.hpp"

#include <catch2/catch.hpp>

#include <fmt/format.h>

namespace charmtree::inquiries_test {

using namespace charmtree::proto;
using Deed = wire::NameInquiry::Deed;

namespace {

constexpr std::uint8_t kPmi = 2, kPmix = 3;
constexpr std::uint32_t kOfHost = 10;  // processes

/// What the process is answered.
wire::Answered ask(Inquiries& root, std::uint32_t process, Deed deed, const std::string& name,
                   const std::string& value = {}, std::uint64_t number = 1, std::uint8_t service = kPmi) {
  Inquiries::Orders orders;
  root.on(wire::NameInquiry{process, {service, number}, deed, name, value}, process / kOfHost, orders);
  REQUIRE(orders.size() == 1);
  CHECK(orders[0].first == process);
  const auto& answer = get<wire::Answered>(orders[0].second);
  CHECK((answer.process == process && answer.about == wire::kNoProcess && answer.id.number == number));
  return answer;
}

}  // namespace

TEST_CASE("an inquiry goes to whom it is about, and what that answers goes back", "[kvs]") {
  Inquiries::Orders orders;
  Inquiries::on(wire::Inquiry{3, 9, {kPmix, 5}}, orders);
  Inquiries::on(wire::InquiryReply{9, 3, {kPmix, 5}, "", "given"}, orders);
  REQUIRE(orders.size() == 2);
  CHECK(orders[0].first == 9);
  const auto& asked = get<wire::Inquired>(orders[0].second);
  CHECK((asked.process == 9 && asked.asker == 3 && asked.id == wire::InquiryId{kPmix, 5}));
  CHECK(orders[1].first == 3);
  const auto& answered = get<wire::Answered>(orders[1].second);
  CHECK((answered.process == 3 && answered.about == 9 && answered.bytes == "given"));
}

TEST_CASE("a name is known from when it is published until it is taken back", "[kvs]") {
  Inquiries root;
  CHECK(ask(root, 1, Deed::look_up, "ocean").failure == "nobody has published it");
  CHECK(ask(root, 0, Deed::publish, "ocean", "port 7").failure.empty());
  CHECK(ask(root, 1, Deed::look_up, "ocean").bytes == "port 7");
  CHECK(ask(root, 1, Deed::publish, "ocean", "port 8").failure == "process 0 has published it");
  CHECK(ask(root, 1, Deed::look_up, "ocean", {}, 1, kPmix).failure == "nobody has published it");
  CHECK(ask(root, 1, Deed::unpublish, "ocean").failure == "process 0 has published it");
  CHECK(ask(root, 1, Deed::look_up, "ocean").bytes == "port 7");
  CHECK(ask(root, 0, Deed::unpublish, "ocean").failure.empty());
  CHECK(ask(root, 0, Deed::unpublish, "ocean").failure == "nobody has published it");
}

TEST_CASE("what is published again under the same number was only asked again", "[kvs]") {
  Inquiries root;
  CHECK(ask(root, 4, Deed::publish, "ocean", "port", 8).failure.empty());
  CHECK(ask(root, 4, Deed::publish, "ocean", "port", 8).failure.empty());
  CHECK(ask(root, 4, Deed::publish, "ocean", "port", 9).failure == "process 4 has published it");
}

TEST_CASE("who waits for a name hears of it when it is published", "[kvs]") {
  Inquiries root;
  Inquiries::Orders orders;
  const wire::NameInquiry waits{3, {kPmix, 1}, Deed::await, "ocean", {}};
  root.on(waits, 0, orders);
  root.on(waits, 0, orders);  // it asks again
  root.on(wire::NameInquiry{4, {kPmix, 1}, Deed::await, "ocean", {}}, 0, orders);
  root.on(wire::NameInquiry{5, {kPmix, 1}, Deed::await, "lake", {}}, 0, orders);
  CHECK(orders.empty());
  root.on(wire::NameInquiry{0, {kPmix, 1}, Deed::publish, "ocean", "port"}, 0, orders);
  REQUIRE(orders.size() == 3);
  for (const auto& [process, message] : orders) {
    const auto& answer = get<wire::Answered>(message);
    CHECK((answer.failure.empty() && answer.bytes == (process == 0 ? "" : "port")));
  }
  CHECK(ask(root, 6, Deed::await, "ocean", {}, 1, kPmix).bytes == "port");
}

TEST_CASE("a name that is published for one reader is read by one", "[kvs]") {
  Inquiries root;
  CHECK(ask(root, 0, Deed::publish_once, "ocean", "port 1", 1).failure.empty());
  CHECK(ask(root, 1, Deed::look_up, "ocean", {}, 1).bytes == "port 1");
  CHECK(ask(root, 1, Deed::look_up, "ocean", {}, 1).bytes == "port 1");  // asked again
  CHECK(ask(root, 2, Deed::look_up, "ocean", {}, 1).failure == "nobody has published it");
  CHECK(ask(root, 1, Deed::look_up, "ocean", {}, 2).failure == "nobody has published it");
  Inquiries::Orders orders;
  for (const std::uint32_t process : {3U, 4U})
    root.on(wire::NameInquiry{process, {kPmi, 1}, Deed::await, "ocean", {}}, 0, orders);
  CHECK(orders.empty());
  root.on(wire::NameInquiry{0, {kPmi, 2}, Deed::publish_once, "ocean", "port 2"}, 0, orders);
  REQUIRE(orders.size() == 2);
  CHECK((orders[0].first == 3 && orders[1].first == 0));
}

TEST_CASE("names that have been read make room for others", "[kvs]") {
  Inquiries root;
  for (std::size_t i = 0; i < Inquiries::kMostNames; ++i)
    ask(root, 0, Deed::publish_once, fmt::format("{}", i), {}, i);
  CHECK_FALSE(ask(root, 0, Deed::publish, "one more").failure.empty());
  ask(root, 1, Deed::look_up, "7");
  CHECK(ask(root, 0, Deed::publish, "one more").failure.empty());
}

TEST_CASE("a job has only so many names", "[kvs]") {
  Inquiries root;
  for (std::size_t i = 0; i < Inquiries::kMostNames; ++i)
    CHECK(ask(root, 0, Deed::publish, fmt::format("{}", i)).failure.empty());
  CHECK(ask(root, 0, Deed::publish, "one more").failure == "the job has 10000 names already");
}

TEST_CASE("names have a limit in bytes, and no host takes the room of others", "[kvs]") {
  Inquiries root;
  const std::string name(900, 'n'), value(wire::kMostPublished, 'v');
  const auto publish = [&](std::uint32_t process, std::size_t i) {
    return ask(root, process, Deed::publish, name + std::to_string(i), value, i).failure;
  };
  std::size_t taken = 0;
  while (publish(0, taken).empty()) ++taken;
  CHECK(taken == Inquiries::kMostOfHost / (name.size() + 3 + value.size() + Inquiries::kEntry));
  CHECK(publish(1, taken) == "names that this host has published, and awaits, take 4 MiB already");
  CHECK(publish(kOfHost, taken).empty());
  for (std::uint32_t host = 1; host < 40; ++host) {
    for (std::size_t i = 0; i < 1000 && publish(host * kOfHost, 1000 * host + i).empty();) ++i;
  }
  CHECK(root.bytes() <= Inquiries::kMostBytes);
  CHECK(publish(400 * kOfHost, 0) == "process 0 has published it");
  CHECK(publish(400 * kOfHost, 999'999) == "names of this job take 16 MiB already");
  CHECK(ask(root, 0, Deed::unpublish, name + "0").failure.empty());
  CHECK(publish(0, 999'999).empty());
}

TEST_CASE("look-ups that wait count, too, each once, until they are answered", "[kvs]") {
  Inquiries root;
  Inquiries::Orders orders;
  const std::string name(1000, 'n');
  const auto await = [&](std::uint64_t number) {
    orders.clear();
    root.on(wire::NameInquiry{3, {kPmix, number}, Deed::await, name, {}}, 0, orders);
    return orders.empty();
  };
  std::uint64_t waiting = 0;
  while (await(waiting)) ++waiting;
  CHECK(waiting == Inquiries::kMostOfHost / (name.size() + Inquiries::kEntry));
  const std::size_t full = root.bytes();
  CHECK(await(0));  // it is asked again
  CHECK(root.bytes() == full);
  root.on(wire::NameInquiry{90, {kPmix, 1}, Deed::publish, name, "port"}, 9, orders);
  CHECK(orders.size() == waiting + 1);
  CHECK(root.bytes() == name.size() + 4 + Inquiries::kEntry);
}

TEST_CASE("a long value goes to so many at once, and to others when they ask again", "[kvs]") {
  Inquiries root;
  Inquiries::Orders orders;
  for (std::uint32_t process = 0; process < 2000; ++process)
    root.on(wire::NameInquiry{process, {kPmix, 1}, Deed::await, "ocean", {}}, process / kOfHost, orders);
  const std::string value(wire::kMostPublished, 'v');
  root.on(wire::NameInquiry{3000, {kPmix, 1}, Deed::publish, "ocean", value}, 300, orders);
  CHECK(orders.size() < 300);
  CHECK(ask(root, 1999, Deed::await, "ocean", {}, 1, kPmix).bytes == value);
  CHECK(root.bytes() == 5 + value.size() + Inquiries::kEntry);
}

}  // namespace charmtree::inquiries_test
