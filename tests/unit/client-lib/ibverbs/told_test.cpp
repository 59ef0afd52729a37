// SPDX-License-Identifier: Apache-2.0
#include "client-lib/ibverbs/told.hpp"

#include <catch2/catch.hpp>

namespace charmtree::told_test {

using namespace charmtree::ibverbs;

namespace {

Port ethernet(std::uint8_t last, std::uint16_t mtu = 1024) {
  Port port;
  port.roce = 2;
  port.gid[15] = last;
  port.mtu = mtu;
  return port;
}
Port infiniband(std::uint16_t lid) {
  Port port;
  port.lid = lid;
  port.mtu = 4096;
  return port;
}
/// Of a port without a LID.
Port by_gid(std::uint8_t last) {
  Port port = infiniband(0);
  port.needs_gid = true;
  port.gid[15] = last;
  return port;
}
/// What a process of three tells.
Told told(std::uint32_t port_of, std::optional<Port> port, std::vector<std::uint32_t> made) {
  return {port_of, std::move(port), 100, Numbers::of(made).value()};
}

}  // namespace

TEST_CASE("what a process tells arrives as it was sent", "[ibverbs]") {
  const Port port = GENERATE(ethernet(7), infiniband(12));
  const auto arrived = decode_told(encode(told(2, port, {5, 6})), 3);
  REQUIRE(arrived);
  CHECK(arrived->port_of == 2);
  CHECK(arrived->port == port);
  CHECK(arrived->first_psn == 100);
  CHECK(arrived->numbers.ranges() == std::vector<Numbers::Range>{{5, 6}});
  CHECK_FALSE(decode_told(encode(told(2, port, {5, 6})), 4));
  CHECK_FALSE(decode_told(encode(told(2, port, {5, 6})), 2));
  CHECK_FALSE(decode_told(encode(told(3, port, {5, 6})), 3));  // of nobody
  CHECK_FALSE(decode_told(encode(told(2, port, {5, 6})) + 'x', 3));
  CHECK_FALSE(decode_told("", 3));
  const auto peer = decode_peer(encode(Peer{port, 17, 18}));
  CHECK((peer && peer->port == port && peer->number == 17 && peer->psn == 18));
  const auto ports = decode_ports(encode(std::vector<KnownPort>{{4, port}, {5, port}}));
  CHECK((ports && ports->size() == 2 && ports->at(1).told_by == 5 && ports->at(1).port == port));
}

TEST_CASE("a port that none can have is refused", "[ibverbs]") {
  const auto is_taken = [](const Port& port) { return decode_peer(encode(Peer{port, 1, 1})).has_value(); };
  CHECK(is_taken(ethernet(1)));
  CHECK_FALSE(is_taken(ethernet(0)));  // no GID
  CHECK_FALSE(is_taken(ethernet(1, 0)));
  CHECK_FALSE(is_taken(ethernet(1, 1000)));
  CHECK_FALSE(is_taken(ethernet(1, 128)));
  CHECK_FALSE(is_taken(ethernet(1, 8192)));
  CHECK(is_taken(infiniband(1)));
  CHECK_FALSE(is_taken(infiniband(0)));
  CHECK_FALSE(is_taken(by_gid(0)));
  CHECK(is_taken(by_gid(1)));
  CHECK_FALSE(is_taken(infiniband(0xC000)));  // of many
  CHECK_FALSE(decode_peer(encode(Peer{ethernet(1), kMostNumber + 1, 1})));
  CHECK_FALSE(decode_peer(encode(Peer{ethernet(1), 1, kMostNumber + 1})));
}

TEST_CASE("two ports use the smaller MTU, unless one is to use no other", "[ibverbs]") {
  Port own = ethernet(1, 4096), other = ethernet(2, 1024);
  CHECK(common_mtu(own, other) == 1024);
  CHECK(common_mtu(other, own) == 1024);
  other.is_only_mtu = true;
  CHECK_FALSE(common_mtu(own, other));
  CHECK_FALSE(common_mtu(other, own));
  own.mtu = 1024;
  CHECK(common_mtu(own, other) == 1024);
}

TEST_CASE("two ports that do not reach each other are not connected", "[ibverbs]") {
  const Port own = ethernet(1);
  CHECK(why_not(own, ethernet(2)).empty());
  CHECK(why_not(own, ethernet(2, 512)).empty());
  CHECK(why_not(own, infiniband(3)) == "its port speaks InfiniBand, ours RoCE v2");
  Port other = ethernet(2);
  other.roce = 1;
  CHECK(why_not(other, own) == "its port speaks RoCE v2, ours RoCE v1");
  Port fixed = ethernet(2, 512);
  fixed.is_only_mtu = true;
  CHECK(why_not(own, fixed) == "its MTU is to be 512 bytes, ours 1024");
  CHECK(why_not(infiniband(1), infiniband(2)).empty());
  Port far = infiniband(2);
  far.gid[0] = 0xFE;
  CHECK(why_not(infiniband(1), far) == "its port is in another subnet of InfiniBand than ours");
}

TEST_CASE("the queue pair of another process is found in what all have told", "[ibverbs]") {
  std::vector<std::optional<Told>> all{told(0, ethernet(1), {10, 11}), told(0, {}, {20, 30}),
                                       told(2, ethernet(3), {7, 8})};
  const auto peer = peer_of(all, 1, 2);  // of process 1, whose port process 0 has told
  REQUIRE(peer);
  CHECK(peer->port == ethernet(1));
  CHECK(peer->number == 30);
  CHECK(peer->psn == 102);
  CHECK(peer_of(all, 2, 0)->number == 7);
  CHECK(peer_of(all, 0, 2)->number == 11);
  all[0]->port.reset();
  CHECK_FALSE(peer_of(all, 1, 2));  // nobody has told it
  all[0].reset();
  CHECK_FALSE(peer_of(all, 1, 2));
  CHECK_FALSE(peer_of(all, 0, 2));
}

TEST_CASE("numbers of packets begin anew behind the last one", "[ibverbs]") {
  CHECK(psn_to(kMostNumber, 0) == kMostNumber);
  CHECK(psn_to(kMostNumber, 2) == 1);
}

}  // namespace charmtree::told_test
