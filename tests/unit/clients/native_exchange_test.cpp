// SPDX-License-Identifier: Apache-2.0
// Fences of native clients, as the server of their host sees them: processes 4 to 6 of ten.
#include "tests/unit/native_bench.hpp"
#include "tree/wire/shared_values.hpp"

namespace charmtree::native_exchange_test {

using namespace charmtree::proto;
namespace native = charmtree::wire::native;
using Gives = native::FenceEnter::Gives;
using Ranges = std::vector<wire::ProcessSet::Range>;

namespace {

constexpr auto kNative = static_cast<std::uint8_t>(ClientKind::native);
const Ranges kAll{{0, 9}}, kGroup{{2, 2}, {5, 6}};

struct Bench : test::NativeBench {
  using NativeBench::NativeBench;
  void all_put(const std::string& value) {
    for (ClientId client = 4; client < 7; ++client)
      says(client, native::FenceEnter{1, Gives::pairs, {}, wire::pair_of(std::to_string(client), value)});
  }
  void over(const wire::Fence& fence, const std::string& given, const std::string& failure = {}) {
    server.fenced({fence, failure, std::make_shared<const std::string>(given)}, out);
  }
  std::vector<FenceEntered> up() const { return test::only<FenceEntered>(out); }
};

}  // namespace

TEST_CASE("what all of a host have put goes up with the last of them", "[native]") {
  Bench b;
  b.says(4, native::FenceEnter{7, Gives::pairs, {}, wire::pair_of("a", "1")});
  b.says(6, native::FenceEnter{8, Gives::pairs, {}, wire::pair_of("b", "2")});
  CHECK(b.up().empty());
  b.says(5, native::FenceEnter{9, Gives::pairs, {}, ""});
  REQUIRE(b.up().size() == 1);
  CHECK(b.up()[0].fence == wire::Fence{kNative, kAll, 1, {}});
  CHECK((b.up()[0].processes == 3 && b.up()[0].requests == 3));
  CHECK(b.up()[0].given == wire::pair_of("a", "1") + wire::pair_of("b", "2"));
  b.out.clear();

  b.over({kNative, kAll, 1, {}}, "all");
  const auto heard = b.heard(6);
  REQUIRE(heard.size() == 2);
  CHECK(heard[0] == std::pair{native::FromLauncher{native::Values{0}}, std::string{"all"}});
  CHECK(heard[1] == std::pair{native::FromLauncher{native::FenceOver{8, {}}}, std::string{"-"}});
  b.out.clear();
  b.over({kNative, kAll, 1, {}}, "again");
  CHECK(b.out.empty());
}

TEST_CASE("contents that are small for their place are laid together", "[native]") {
  Bench b;
  const auto fence = [&](std::uint32_t number, const std::string& given) {
    b.all_put("x");
    b.out.clear();
    b.over({kNative, kAll, number, {}}, given);
    return b.heard(4);
  };
  using Heard = std::pair<native::FromLauncher, std::string>;
  const std::string large(100, 'l');
  CHECK(fence(1, large).at(0) == Heard{native::Values{0}, large});
  CHECK(fence(2, "ab").at(0) == Heard{native::Values{1}, "ab"});
  CHECK(fence(3, "").size() == 1);  // nobody put anything
  CHECK(fence(4, "c").at(0) == Heard{native::Values{1}, "abc"});
  CHECK(fence(5, large).at(0) == Heard{native::Values{0}, large + "abc" + large});
}

TEST_CASE("who was not in the fences of others gets with its own what they brought", "[native]") {
  Bench b;
  const std::string large(100, 'l');
  for (const ClientId client : {5, 6}) b.says(client, native::FenceEnter{1, Gives::pairs, kGroup, ""});
  b.over({kNative, kGroup, 1, {}}, large);
  CHECK(b.heard(4).empty());
  b.all_put("x");
  b.out.clear();
  b.over({kNative, kAll, 1, {}}, "new");
  CHECK(b.heard(4).size() == 3);
  CHECK(b.heard(5).size() == 2);
}

TEST_CASE("values of a group come with its end, by number, and stay with it", "[native]") {
  Bench b;
  b.says(5, native::FenceEnter{1, Gives::value, kGroup, "five"});
  b.says(6, native::FenceEnter{2, Gives::value, kGroup, ""});
  REQUIRE(b.up().size() == 1);
  CHECK(b.up()[0].fence == wire::Fence{kNative, kGroup, 1, "values"});
  CHECK(b.up()[0].given == wire::pair_of(wire::key_of(5), "five") + wire::pair_of(wire::key_of(6), ""));
  b.out.clear();
  b.over({kNative, kGroup, 1, "values"}, "all");
  REQUIRE(b.heard(5).size() == 1);
  CHECK(b.heard(5)[0] == std::pair{native::FromLauncher{native::FenceOver{1, {}}}, std::string{"all"}});
  CHECK(b.heard(4).empty());
}

TEST_CASE("a process is in several fences of a group, which go up one after the other", "[native]") {
  Bench b;
  b.all_put("1");
  b.all_put("2");
  REQUIRE(b.up().size() == 1);
  b.out.clear();
  b.over({kNative, kAll, 1, {}}, "one");
  REQUIRE(b.up().size() == 1);
  CHECK(b.up()[0].fence.number == 2);
  CHECK(b.heard(4).size() == 2);
}

TEST_CASE("a fence that fails brings nothing, and those behind it fail too", "[native]") {
  Bench b;
  b.all_put("x");
  b.out.clear();
  b.over({kNative, kAll, 1, {}}, "", "process 9 is lost");
  REQUIRE(b.heard(4).size() == 1);
  CHECK(get<native::FenceOver>(b.heard(4)[0].first).failure == "process 9 is lost");
}

TEST_CASE("a lost process is not waited for on its host", "[native]") {
  Bench b;
  b.says(4, native::FenceEnter{1, Gives::pairs, {}, ""});
  b.says(5, native::FenceEnter{1, Gives::pairs, {}, ""});
  b.server.lost({{6, 6}}, b.out);
  REQUIRE(b.up().size() == 1);  // the root says that it fails
  CHECK(b.up()[0].processes == 2);
}

TEST_CASE("where processes are started again one by one each fence fails at once", "[native]") {
  Bench b{false};
  b.says(4, native::FenceEnter{3, Gives::pairs, {}, ""});
  REQUIRE(b.heard(4).size() == 1);
  CHECK_FALSE(get<native::FenceOver>(b.heard(4)[0].first).failure.empty());
  CHECK(b.up().empty());
}

TEST_CASE("a process does not wait for its neighbours where one of another host is lost", "[native]") {
  Bench b;
  b.says(4, native::FenceEnter{1, Gives::pairs, {}, ""});
  b.server.lost({{9, 9}}, b.out);
  REQUIRE(b.up().size() == 1);
  b.over({kNative, kAll, 1, {}}, "", "process 9 is lost");
  CHECK(get<native::FenceOver>(b.heard(4).back().first).failure == "process 9 is lost");
}

TEST_CASE("a fence that has failed before its loss is known here fails then for those inside", "[native]") {
  Bench b;
  b.says(4, native::FenceEnter{1, Gives::pairs, {}, ""});
  b.over({kNative, kAll, 1, {}}, "", "process 9 is lost");
  CHECK(b.heard(4).empty());
  b.server.lost({{9, 9}}, b.out);
  CHECK(get<native::FenceOver>(b.heard(4).back().first).failure == "process 9 is lost");
  b.out.clear();
  b.says(5, native::FenceEnter{1, Gives::pairs, {}, ""});  // later: the root says so again
  CHECK(b.up().size() == 1);
}

TEST_CASE("of a group on one host no other host hears", "[native]") {
  Bench b;
  const Ranges here{{4, 5}};
  for (const ClientId client : {4, 5}) {
    const std::string own = std::to_string(client);
    b.says(client, native::FenceEnter{1, Gives::value, here, own});
    b.says(client, native::FenceEnter{2, Gives::pairs, here, wire::pair_of(own, "x")});
  }
  CHECK(b.up().empty());
  const auto heard = b.heard(5);
  REQUIRE(heard.size() == 3);
  CHECK(heard[0].second == wire::pair_of(wire::key_of(4), "4") + wire::pair_of(wire::key_of(5), "5"));
  CHECK(heard[1] == std::pair{native::FromLauncher{native::Values{0}},
                              wire::pair_of("4", "x") + wire::pair_of("5", "x")});
  CHECK(heard[2].first == native::FromLauncher{native::FenceOver{2, {}}});
  b.server.lost({{5, 5}}, b.out);
  b.out.clear();
  b.says(4, native::FenceEnter{3, Gives::pairs, here, ""});
  CHECK(get<native::FenceOver>(b.heard(4).at(0).first).failure == "process 5 is lost");
}

TEST_CASE("a client that is gone gets nothing of a fence that it was in", "[native]") {
  Bench b;
  b.all_put("x");
  b.server.closed(5, Bench::kStart, b.out);
  b.out.clear();
  b.over({kNative, kAll, 1, {}}, "all");
  CHECK((b.heard(4).size() == 2 && b.heard(5).empty()));
}

TEST_CASE("whoever comes last to too many groups has a fence that fails, and stays", "[native]") {
  NativeServer server{{0, 1, 10'000}, 1};
  ClientOutputs out;
  server.opened(1, Bench::kStart, out);
  const auto says = [&](const native::FromClient& message) {
    server.received(1, native::to_frame(message), Bench::kStart, out);
  };
  says(native::Hello{native::kVersion, 0, 100, "test"});
  says(native::Put{"tuple"});
  for (std::uint32_t last = 1; last <= GroupFences::kMost; ++last) {
    says(native::FenceEnter{1, Gives::pairs, {{0, last}}, ""});
    server.lost({{last, last}}, out);
    const auto up = test::only<FenceEntered>(out);
    REQUIRE(up.size() == 1);
    out.clear();
    server.fenced({up[0].fence, "lost", std::make_shared<const std::string>()}, out);
    out.clear();
  }
  says(native::FenceEnter{7, Gives::pairs, {{0, 9000}}, ""});
  CHECK(test::only<CloseClient>(out).empty());
  REQUIRE(test::only<ToClient>(out).size() == 1);
  wire::FrameDecoder decoder{wire::kMaxLinkFrame};
  decoder.append(test::only<ToClient>(out)[0].bytes);
  const auto message = native::decode_from_launcher(**decoder.next()).value();
  CHECK(get<native::FenceOver>(message) == native::FenceOver{7, "too many groups have barriers"});
}

TEST_CASE("whoever enters a fence as nobody may loses its connection", "[native]") {
  Bench b;
  const auto enter = GENERATE(native::FenceEnter{1, Gives::pairs, {{0, 3}}, ""},      // is not in it
                              native::FenceEnter{1, Gives::pairs, {{4, 10}}, ""},     // nobody is 10
                              native::FenceEnter{1, Gives::pairs, {{4, 4}}, "none"},  // no pairs
                              native::FenceEnter{1, Gives::value, {{4, 5}, {6, 6}}, ""});
  b.says(4, enter);
  CHECK(b.is_closed(4));
  CHECK(b.up().empty());
}

TEST_CASE("a process gives no more at a time than four fences take", "[native]") {
  Bench b;
  const std::string much(wire::kMostGiven - 100, 'x');
  for (int i = 0; i < 4; ++i) b.says(4, native::FenceEnter{1, Gives::value, {}, much});
  CHECK_FALSE(b.is_closed(4));
  b.says(4, native::FenceEnter{1, Gives::value, {}, much});
  CHECK(b.is_closed(4));
}

TEST_CASE("nobody is done inside a fence", "[native]") {
  Bench b;
  b.says(4, native::FenceEnter{1, Gives::pairs, {}, ""});
  b.says(4, native::Finalize{0});
  CHECK(b.is_closed(4));
}

}  // namespace charmtree::native_exchange_test
