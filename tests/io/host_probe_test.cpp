// SPDX-License-Identifier: Apache-2.0
#include "tree/io/link/host_probe.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <optional>

#include "tree/io/clock.hpp"

namespace charmtree::host_probe_test {

using namespace charmtree::io;
using asio::ip::tcp;

namespace {

struct Pair {
  asio::io_context io{1};
  tcp::acceptor acceptor{io, {asio::ip::address_v4::loopback(), 0}};
  tcp::socket near{io}, far{io};
  int knocks = 0;

  Pair() {
    near.connect(acceptor.local_endpoint());
    acceptor.accept(far);
    asio::write(near, asio::buffer("x", 1));
    wait_for_knock();
  }
  void wait_for_knock() {
    acceptor.async_accept([this](error_code ec, const tcp::socket&) {
      if (ec) return;
      ++knocks;
      wait_for_knock();
    });
  }
  TcpEnds ends() { return tcp_ends(near.native_handle()).value(); }
  proto::Evidence probe(const TcpEnds& ends, Duration fresh) {
    std::optional<proto::Evidence> found;
    const auto handle = probe_host(io, ends, {200ms, fresh}, 1s, [&](const auto& each) { found = each; });
    const Instant until = now() + 5s;
    while (!found && now() < until) io.run_one_for(std::chrono::milliseconds{100});
    io.run_for(std::chrono::milliseconds{20});
    return found.value();
  }
};

}  // namespace

TEST_CASE("the kernel knows what others have acknowledged, and what nobody has read") {
  Pair pair;
  const auto near = SockDiag{}.find(pair.ends(), true);
  REQUIRE(near);
  CHECK(near->uid == ::geteuid());
  CHECK(near->inode > 0);
  CHECK(near->unread == 0);
  REQUIRE(near->info);
  CHECK(near->info->tcpi_unacked == 0);
  const auto far = SockDiag{}.find(tcp_ends(pair.far.native_handle()).value());
  REQUIRE(far);
  CHECK(far->unread == 1);
  CHECK_FALSE(SockDiag{}.find({pair.ends().own, pair.ends().own}));
  const auto listed = find_listed(tcp_ends(pair.far.native_handle()).value());
  REQUIRE(listed);
  CHECK((listed->uid == far->uid && listed->inode == far->inode && listed->inode != 0));
  CHECK(find_listed(pair.ends())->inode == near->inode);
  CHECK_FALSE(find_listed({pair.ends().own, pair.ends().own}));
}

TEST_CASE("who acknowledges, or is not read, is not connected to") {
  Pair pair;
  const proto::Evidence fresh = pair.probe(pair.ends(), 10s);
  CHECK(fresh.acknowledged);
  CHECK_FALSE(fresh.asked);
  CHECK(fresh.heard >= 1s);
  CHECK(pair.knocks == 0);

  asio::write(pair.far, asio::buffer("y", 1));
  const proto::Evidence unread = pair.probe(pair.ends(), 0s);
  CHECK(unread.heard == 0s);
  CHECK(pair.knocks == 0);
}

TEST_CASE("an answer is that somebody listens there, or that nobody does") {
  Pair pair;
  const proto::Evidence taken = pair.probe(pair.ends(), 0s);
  CHECK(taken.asked);
  CHECK(taken.port_answers);
  CHECK(pair.knocks == 1);
  // The other way round, to a port where nobody listens.
  auto ends = tcp_ends(pair.far.native_handle()).value();
  pair.far.close();
  pair.near.close();
  const proto::Evidence refused = pair.probe(ends, 0s);
  CHECK(refused.asked);
  CHECK(refused.port_answers);
}

TEST_CASE("an address that is not ours to send to says nothing about who has it") {
  Pair pair;
  TcpEnds ends = pair.ends();
  auto& there = reinterpret_cast<sockaddr_in&>(ends.peer);
  there.sin_addr.s_addr = htonl(INADDR_BROADCAST);  // the kernel refuses to connect to it
  const proto::Evidence evidence = pair.probe(ends, 0s);
  CHECK_FALSE(evidence.port_answers);
  CHECK_FALSE(evidence.acknowledged);
  CHECK_FALSE(evidence.asked);
}

TEST_CASE("a connection of sshd's that is none of this machine is not believed") {
  Pair pair;
  const auto set = [&](std::uint16_t port) {
    ::setenv("SSH_CONNECTION",
             fmt::format("127.0.0.1 {} 127.0.0.1 {}", pair.acceptor.local_endpoint().port(), port).c_str(),
             1);
  };
  set(pair.near.local_endpoint().port());
  CHECK(ssh_connection());
  set(1);
  CHECK_FALSE(ssh_connection());
  ::setenv("SSH_CONNECTION", "fe80::1%eth0 1 fe80::2%eth0", 1);
  CHECK_FALSE(ssh_connection());
  ::unsetenv("SSH_CONNECTION");
  CHECK_FALSE(ssh_connection());
}

}  // namespace charmtree::host_probe_test
