// SPDX-License-Identifier: Apache-2.0
#include "kvs/inquiries.hpp"

#include <catch2/catch.hpp>

#include <fmt/format.h>

namespace charmtree::inquiries_test {

using namespace charmtree::proto;
using Deed = wire::NameInquiry::Deed;

namespace {

constexpr std::uint8_t kPmi = 2, kPmix = 3;

/// What the process is answered.
wire::Answered ask(Inquiries& root, std::uint32_t process, Deed deed, const std::string& name,
                   const std::string& value = {}, std::uint64_t number = 1, std::uint8_t service = kPmi) {
  Inquiries::Orders orders;
  root.on(wire::NameInquiry{process, {service, number}, deed, name, value}, orders);
  REQUIRE(orders.size() == 1);
  CHECK(orders[0].first == process);
  const auto& answer = std::get<wire::Answered>(orders[0].second);
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
  const auto& asked = std::get<wire::Inquired>(orders[0].second);
  CHECK((asked.process == 9 && asked.asker == 3 && asked.id == wire::InquiryId{kPmix, 5}));
  CHECK(orders[1].first == 3);
  const auto& answered = std::get<wire::Answered>(orders[1].second);
  CHECK((answered.process == 3 && answered.about == 9 && answered.bytes == "given"));
}

TEST_CASE("a name is known from when it is published until it is taken back", "[kvs]") {
  Inquiries root;
  CHECK(ask(root, 1, Deed::look_up, "ocean").failure == "nobody has published it");
  CHECK(ask(root, 0, Deed::publish, "ocean", "port 7").failure.empty());
  CHECK(ask(root, 1, Deed::look_up, "ocean").bytes == "port 7");
  CHECK(ask(root, 1, Deed::publish, "ocean", "port 8").failure == "process 0 has published it");
  CHECK(ask(root, 1, Deed::look_up, "ocean", {}, 1, kPmix).failure == "nobody has published it");
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
  root.on(waits, orders);
  root.on(waits, orders);  // it asks again
  root.on(wire::NameInquiry{4, {kPmix, 1}, Deed::await, "ocean", {}}, orders);
  root.on(wire::NameInquiry{5, {kPmix, 1}, Deed::await, "lake", {}}, orders);
  CHECK(orders.empty());
  root.on(wire::NameInquiry{0, {kPmix, 1}, Deed::publish, "ocean", "port"}, orders);
  REQUIRE(orders.size() == 3);
  for (const auto& [process, message] : orders) {
    const auto& answer = std::get<wire::Answered>(message);
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
    root.on(wire::NameInquiry{process, {kPmi, 1}, Deed::await, "ocean", {}}, orders);
  CHECK(orders.empty());
  root.on(wire::NameInquiry{0, {kPmi, 2}, Deed::publish_once, "ocean", "port 2"}, orders);
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

}  // namespace charmtree::inquiries_test
