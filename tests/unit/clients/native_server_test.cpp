// SPDX-License-Identifier: Apache-2.0
#include "tree/clients/native_server.hpp"
#include "tree/wire/ccs_message.hpp"
#include "tree/wire/messages.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "tests/unit/what_happened.hpp"

namespace charmtree::native_server_test {

using namespace charmtree::proto;
namespace native = charmtree::wire::native;

namespace {

constexpr Instant kStart{};

/// A server for processes 4, 5 and 6 of 10, on host 2; outputs are taken by kind, in order.
struct Bench {
  NativeServer server{LocalProcesses{4, 3, 10}, 2};
  ClientOutputs outputs;
  Instant now = kStart;

  void say(ClientId client, const native::FromClient& message) {
    server.received(client, native::to_frame(message), now, outputs);
  }
  void join(ClientId client, std::uint32_t process) {
    server.opened(client, now, outputs);
    say(client, native::Hello{native::kVersion, process, 100, "test"});
  }
  void join_and_register(ClientId client, std::uint32_t process) {
    join(client, process);
    say(client, native::Put{"tuple"});
  }
  void forget() { outputs.clear(); }

  template <class Kind>
  std::vector<Kind> all() const {
    return test::only<Kind>(outputs);
  }

  /// What the server said to a connection.
  std::vector<native::FromLauncher> said_to(ClientId client) const {
    wire::FrameDecoder decoder{wire::kMaxLinkFrame};
    for (const ToClient& sent : all<ToClient>()) {
      if (sent.client == client) decoder.append(sent.bytes + (sent.tail ? *sent.tail : ""));
    }
    std::vector<native::FromLauncher> messages;
    for (auto frame = decoder.next(); frame && frame->has_value(); frame = decoder.next()) {
      auto message = native::decode_from_launcher(**frame);
      REQUIRE(message);
      messages.push_back(*message);
    }
    return messages;
  }
  bool closed(ClientId client) const {
    for (const CloseClient& close : all<CloseClient>()) {
      if (close.client == client) return true;
    }
    return false;
  }
};

}  // namespace

TEST_CASE("a process joins, registers, and gets the table", "[native]") {
  Bench bench;
  bench.join(1, 5);
  REQUIRE(bench.said_to(1).size() == 1);
  CHECK(get<native::Welcome>(bench.said_to(1)[0]) == native::Welcome{5, 10, 1, 3, 2, 0, 0, 3, {{4, 6}}, {}});
  CHECK(bench.all<Registered>().empty());

  bench.say(1, native::Put{"here"});
  REQUIRE(bench.all<Registered>().size() == 1);
  CHECK(bench.all<Registered>()[0].process == 5);
  CHECK(bench.all<Registered>()[0].tuple == wire::Tuple{0, "here"});

  bench.join(2, 4);  // has not registered
  bench.forget();
  const wire::Blob table = wire::encode({1, 1, {{0, 0, 1, std::vector<wire::Tuple>(10)}}});
  bench.server.table(table, bench.outputs);
  REQUIRE(bench.said_to(1).size() == 1);
  CHECK(bench.all<ToClient>().at(0).shared.coded == table);
  CHECK(holds_alternative<native::Table>(bench.said_to(1)[0]));
  CHECK(bench.said_to(2).empty());
  CHECK(bench.all<TableDelivered>().empty());

  bench.forget();
  bench.join(3, 6);
  CHECK(get<native::Welcome>(bench.said_to(3)[0]).epoch == 1);
}

TEST_CASE("a process that asks for a port gets that of its rank, before it registers, too", "[native]") {
  Bench bench;
  bench.join(1, 5);
  bench.forget();
  bench.say(1, native::PortWanted{wire::PortKind::tcp});
  REQUIRE(bench.said_to(1) == std::vector<native::FromLauncher>{native::Port{wire::PortKind::tcp}});
  const auto port = bench.all<ToClient>().at(0).port.value();
  CHECK((port.kind == wire::PortKind::tcp && port.rank == 1 && port.of == 3));
  CHECK(port.otherwise == native::to_frame(native::Port{wire::PortKind::tcp, false}));

  bench.say(1, native::Put{"here"});
  bench.forget();
  bench.say(1, native::PortWanted{wire::PortKind::udp});
  CHECK(bench.all<ToClient>().at(0).port.value().kind == wire::PortKind::udp);
  CHECK_FALSE(bench.closed(1));
}

TEST_CASE("a process has one port of each kind, and asks in its turn", "[native]") {
  const native::PortWanted wanted{wire::PortKind::tcp};
  Bench bench;
  bench.join_and_register(1, 4);
  bench.say(1, wanted);
  bench.say(1, wanted);
  CHECK(bench.closed(1));
  CHECK(bench.all<ClientLost>().at(0).why == "asked for a port out of turn");

  bench.server.opened(2, bench.now, bench.outputs);
  bench.say(2, wanted);
  CHECK(bench.closed(2));

  bench.join_and_register(3, 5);
  bench.say(3, native::Finalize{0});
  bench.say(3, wanted);
  CHECK(bench.closed(3));

  bench.server.vacate(4, 1, true, bench.outputs);
  bench.join(4, 4);
  bench.forget();
  bench.say(4, wanted);  // in its next life once more
  CHECK(bench.all<ToClient>().at(0).port.value().rank == 0);
}

TEST_CASE("messages may come in pieces or together", "[native]") {
  Bench bench;
  bench.server.opened(1, bench.now, bench.outputs);
  const std::string stream = native::to_frame(native::Hello{native::kVersion, 4, 1, "x"}) +
                             native::to_frame(native::Put{"t"}) + native::to_frame(native::BarrierEnter{});
  for (const char byte : stream) bench.server.received(1, {&byte, 1}, bench.now, bench.outputs);
  CHECK(bench.all<BarrierEntered>().size() == 1);

  bench.server.opened(2, bench.now, bench.outputs);
  bench.server.received(
      2, native::to_frame(native::Hello{native::kVersion, 5, 1, "x"}) + stream.substr(stream.size() / 2),
      bench.now, bench.outputs);  // then the rest of some other frame: garbage
  CHECK(bench.closed(2));
}

TEST_CASE("a barrier is released to those who wait, once", "[native]") {
  Bench bench;
  bench.join_and_register(1, 4);
  bench.join_and_register(2, 5);
  bench.say(1, native::BarrierEnter{});
  REQUIRE(bench.all<BarrierEntered>().size() == 1);
  CHECK(bench.all<BarrierEntered>()[0].process == 4);
  CHECK(bench.all<BarrierEntered>()[0].kind == BarrierKind::all);

  bench.forget();
  bench.server.release(BarrierKind::root, bench.outputs);
  CHECK(bench.outputs.empty());
  bench.server.release(BarrierKind::all, bench.outputs);
  CHECK(bench.said_to(1) == std::vector<native::FromLauncher>{native::BarrierRelease{}});
  CHECK(bench.said_to(2).empty());
  bench.forget();
  bench.server.release(BarrierKind::all, bench.outputs);
  CHECK(bench.outputs.empty());

  bench.say(1, native::BarrierEnter{});
  CHECK(bench.all<BarrierEntered>().size() == 1);
}

TEST_CASE("text and aborts are passed on, even before registration", "[native]") {
  Bench bench;
  bench.join(1, 6);
  bench.say(1, native::Print{native::Stream::err, "hello\n"});
  REQUIRE(bench.all<Printed>().size() == 1);
  CHECK(bench.all<Printed>()[0].process == 6);
  CHECK(bench.all<Printed>()[0].stream == Stream::err);
  CHECK(bench.all<Printed>()[0].text == "hello\n");
  CHECK_FALSE(bench.all<Printed>()[0].wants_receipt);

  bench.say(1, native::Abort{17, "no more"});
  REQUIRE(bench.all<Aborted>().size() == 1);
  CHECK(bench.all<Aborted>()[0].code == 17);
  CHECK(bench.all<Aborted>()[0].text == "no more");

  bench.say(1, native::Abort{18, "again"});
  bench.say(1, native::Put{"late"});
  bench.server.closed(1, bench.now, bench.outputs);
  CHECK(bench.all<Aborted>().size() == 1);
  CHECK(bench.all<Registered>().empty());
  CHECK(bench.all<ClientLost>().empty());
}

TEST_CASE("who has finalized leaves when everybody has", "[native]") {
  Bench bench;
  bench.join_and_register(1, 4);
  bench.join_and_register(2, 5);
  bench.server.opened(3, bench.now, bench.outputs);
  bench.say(1, native::Finalize{3});
  REQUIRE(bench.all<Ended>().size() == 1);
  CHECK(bench.all<Ended>()[0].process == 4);
  CHECK(bench.all<Ended>()[0].code == 3);
  REQUIRE(bench.all<BarrierEntered>().size() == 1);
  CHECK(bench.all<BarrierEntered>()[0].kind == BarrierKind::leave);
  CHECK(bench.said_to(1).size() == 1);  // the welcome only

  bench.forget();
  bench.server.release(BarrierKind::leave, bench.outputs);
  CHECK(bench.said_to(1) == std::vector<native::FromLauncher>{native::Finished{}});
  CHECK(bench.said_to(2).empty());

  bench.forget();
  bench.server.finish(bench.outputs);
  for (ClientId client : {1, 2}) {
    CHECK(bench.said_to(client) == std::vector<native::FromLauncher>{native::Finished{}});
    CHECK(bench.closed(client));
  }
  CHECK(bench.said_to(3).empty());
  CHECK(bench.closed(3));
  CHECK(bench.server.next_deadline() == kNever);

  bench.server.closed(2, bench.now, bench.outputs);
  CHECK(bench.all<ClientLost>().empty());
  bench.server.opened(4, bench.now, bench.outputs);
  CHECK(bench.closed(4));
}

TEST_CASE("a process that vanishes after it registered is lost", "[native]") {
  Bench bench;
  bench.join_and_register(1, 4);
  bench.server.closed(1, bench.now, bench.outputs);
  REQUIRE(bench.all<ClientLost>().size() == 1);
  CHECK(bench.all<ClientLost>()[0].process == 4);

  bench.forget();
  bench.join(2, 4);  // its number is spent
  CHECK(holds_alternative<native::Refused>(bench.said_to(2).at(0)));
}

TEST_CASE("a process that vanishes before it registered was none: its number is free", "[native]") {
  Bench bench;
  bench.join(1, 4);
  bench.server.closed(1, bench.now, bench.outputs);
  CHECK(bench.all<ClientLost>().empty());
  CHECK(bench.all<ClientNote>().size() == 1);

  bench.forget();
  bench.join(2, 4);
  CHECK(holds_alternative<native::Welcome>(bench.said_to(2).at(0)));
}

TEST_CASE("a hello that does not fit is refused, with the reason", "[native]") {
  const auto [hello, why] = GENERATE(table<native::Hello, std::string>({
      {native::Hello{native::kVersion, 3, 1, ""}, "not expected"},
      {native::Hello{native::kVersion, 7, 1, ""}, "not expected"},
      {native::Hello{native::kVersion, 4, 1, ""}, "has joined already"},
      {native::Hello{native::kVersion + 1, 5, 1, ""}, "speaks version"},
  }));
  Bench bench;
  bench.join_and_register(1, 4);
  bench.forget();

  bench.server.opened(2, bench.now, bench.outputs);
  bench.say(2, hello);

  REQUIRE(bench.said_to(2).size() == 1);
  CHECK(get<native::Refused>(bench.said_to(2)[0]).why.find(why) != std::string::npos);
  CHECK(bench.closed(2));
  CHECK(bench.all<ClientLost>().empty());
}

TEST_CASE("a registered process that breaks the protocol is dropped and lost", "[native]") {
  const std::string garbage = GENERATE(
      native::to_frame(native::Hello{native::kVersion, 5, 1, ""}), native::to_frame(native::Put{"again"}),
      native::to_frame(native::BarrierEnter{}) + native::to_frame(native::BarrierEnter{}),
      native::to_frame(native::BarrierEnter{}) + native::to_frame(native::Finalize{0}),
      native::to_frame(native::FromLauncher{native::Finished{}}), std::string("\xFF\xFF\xFF\xFF", 4),
      std::string("\x02\0\0\0\x09\x01", 6), wire::make_frame(99, ""), wire::make_frame(4, "\x07"));
  Bench bench;
  bench.join_and_register(1, 4);
  bench.join_and_register(2, 5);
  bench.forget();

  bench.server.received(1, garbage, bench.now, bench.outputs);

  CHECK(bench.closed(1));
  REQUIRE(bench.all<ClientLost>().size() == 1);
  CHECK(bench.all<ClientLost>()[0].process == 4);
  CHECK_FALSE(bench.all<ClientLost>()[0].why.empty());

  bench.forget();
  bench.server.received(1, "more", bench.now, bench.outputs);
  bench.say(2, native::BarrierEnter{});
  CHECK(bench.outputs.size() == 1);  // the other one goes on
}

TEST_CASE("after Finalize a process that says more is dropped but not lost", "[native]") {
  Bench bench;
  bench.join_and_register(1, 4);
  bench.say(1, native::Finalize{0});
  bench.say(1, native::Print{native::Stream::out, "late"});
  CHECK(bench.closed(1));
  CHECK(bench.all<Printed>().empty());
  CHECK(bench.all<ClientLost>().empty());
}

TEST_CASE("nothing but a hello is taken from a stranger", "[native]") {
  const std::string bytes =
      GENERATE(native::to_frame(native::Put{"t"}), native::to_frame(native::BarrierEnter{}),
               native::to_frame(native::Finalize{0}), native::to_frame(native::Abort{1, ""}),
               native::to_frame(native::Print{native::Stream::out, "t"}), std::string("GET / HTTP/1.1\r\n"),
               std::string("\0\0\x10\0\x01\x01", 6) + std::string(native::kMaxHello, 'x'));
  Bench bench;
  bench.server.opened(1, bench.now, bench.outputs);
  bench.server.received(1, bytes, bench.now, bench.outputs);
  CHECK(bench.closed(1));
  CHECK(bench.outputs.size() == 2);
  CHECK(bench.all<ClientNote>().size() == 1);
}

TEST_CASE("an idle connection is dropped at its deadline, a joined one has none", "[native]") {
  Bench bench;
  bench.server.opened(1, bench.now, bench.outputs);
  bench.now += 1s;
  bench.join(2, 4);
  bench.server.opened(3, bench.now, bench.outputs);
  CHECK(bench.server.next_deadline() == kStart + NativeServer::kHelloLimit);

  bench.forget();
  bench.server.tick(kStart + NativeServer::kHelloLimit - 1ns, bench.outputs);
  CHECK(bench.outputs.empty());
  bench.server.tick(kStart + NativeServer::kHelloLimit, bench.outputs);
  CHECK(bench.closed(1));
  CHECK_FALSE(bench.closed(3));
  bench.server.tick(bench.now + NativeServer::kHelloLimit, bench.outputs);
  CHECK(bench.closed(3));
  CHECK_FALSE(bench.closed(2));
  CHECK(bench.server.next_deadline() == kNever);
}

TEST_CASE("a flood of connections is bounded and the newest gets its chance", "[native]") {
  Bench bench;
  constexpr ClientId kFlood = 10'000;
  for (ClientId client = 0; client < kFlood; ++client) bench.server.opened(client, bench.now, bench.outputs);
  CHECK(bench.all<CloseClient>().size() == kFlood - NativeServer::kMaxStrangers - 3);
  CHECK(bench.all<ClientNote>().size() == 1);

  bench.forget();
  bench.join(kFlood, 4);
  CHECK(holds_alternative<native::Welcome>(bench.said_to(kFlood).at(0)));
}

TEST_CASE("each kind of nuisance is told once", "[native]") {
  Bench bench;
  bench.join_and_register(0, 4);
  bench.forget();
  ClientId next = 1;
  const auto open = [&] {
    bench.server.opened(next, bench.now, bench.outputs);
    return next++;
  };
  for (int round = 0; round < 3; ++round) {
    bench.server.closed(open(), bench.now, bench.outputs);
    bench.server.received(open(), native::to_frame(native::Finalize{0}), bench.now, bench.outputs);
    bench.say(open(), native::Put{"t"});
    bench.say(open(), native::Hello{native::kVersion + 1, 5, 1, ""});
    bench.say(open(), native::Hello{native::kVersion, 99, 1, ""});
    bench.say(open(), native::Hello{native::kVersion, 4, 1, ""});
    bench.join(next, 5);
    bench.server.closed(next++, bench.now, bench.outputs);
    open();
    bench.now += NativeServer::kHelloLimit;
    bench.server.tick(bench.now, bench.outputs);
    for (std::size_t i = 0; i < NativeServer::kMaxStrangers + 10; ++i) open();
    bench.now += NativeServer::kHelloLimit;
    bench.server.tick(bench.now, bench.outputs);
  }
  std::vector<std::string> notes;
  for (const ClientNote& each : bench.all<ClientNote>()) notes.push_back(each.text);
  CHECK(notes ==
        std::vector<std::string>{
            "dropped a native connection: closed without a hello",
            "dropped a native connection: finalized out of turn",
            fmt::format("dropped a native connection: client library speaks version {}, this launcher {}",
                        native::kVersion + 1, native::kVersion),
            "dropped a native connection: process 99 is not expected on this host",
            "dropped a native connection: process 4 has joined already",
            "process 5 left before it registered: closed its connection without ct_finalize",
            "dropped a native connection: no hello in time",
            "dropped a native connection: too many connections without a hello",
        });
}

// ---- CCS requests

namespace {

std::string payload(std::uint32_t token, const std::string& handler, const std::string& data = {}) {
  return wire::make_ccs_forward({-1, handler, {}, data}, {0x0A000001, 4242, token});
}

std::string failure(const Bench& bench) {
  return bench.all<RequestAnswered>().empty() ? "" : bench.all<RequestAnswered>().back().failure;
}

}  // namespace

TEST_CASE("a process is asked for its handlers, and answers in its own order", "[native]") {
  Bench bench;
  bench.join(1, 5);
  bench.say(1, native::Handler{"where", wire::CcsMerge{wire::CcsMerge::max, wire::CcsMerge::int32}});
  bench.say(1, native::Put{"here"});
  bench.forget();
  bench.server.request(5, payload(7, "where", "data"), bench.outputs);
  bench.server.request(5, payload(8, "where"), bench.outputs);
  REQUIRE(bench.said_to(1).size() == 2);
  CHECK(get<native::Request>(bench.said_to(1)[0]) ==
        native::Request{7, "where", 0x0A000001, 4242, 4, "data"});
  bench.say(1, native::Reply{8, 0, ""});
  bench.say(1, native::Reply{7, 5, "he"});
  CHECK(bench.all<RequestAnswered>().size() == 1);
  bench.say(1, native::ReplyData{"re!"});
  REQUIRE(bench.all<RequestAnswered>().size() == 2);
  const RequestAnswered answer = bench.all<RequestAnswered>()[1];
  CHECK((answer.process == 5 && answer.token == 7 && answer.bytes == "here!" && answer.failure.empty()));
  CHECK(answer.merge == wire::CcsMerge{wire::CcsMerge::max, wire::CcsMerge::int32});
}

TEST_CASE("a request that a process cannot answer fails, and says why", "[native]") {
  Bench bench;
  bench.server.request(5, payload(1, "where"), bench.outputs);
  CHECK(failure(bench) == "process 5 has ended");
  bench.join_and_register(1, 5);
  bench.server.request(5, payload(1, "where"), bench.outputs);
  CHECK(failure(bench) == "process 5 has no handler 'where'");
  bench.say(1, native::Handler{"where", {}});
  bench.server.request(5, payload(2, "where"), bench.outputs);
  bench.server.request(5, payload(3, "where"), bench.outputs);
  bench.say(1, native::Reply{2, 9, "begun"});
  bench.forget();
  SECTION("done") {
    bench.say(1, native::Finalize{0});
    CHECK(failure(bench) == "process 5 has ended");
    CHECK(bench.all<RequestAnswered>().size() == 2);
  }
  SECTION("lost: the root knows what it was asked") {
    bench.server.closed(1, bench.now, bench.outputs);
    CHECK(bench.all<RequestAnswered>().empty());
  }
}

TEST_CASE("a process has a limit of requests that it has not read", "[native]") {
  Bench bench;
  bench.join_and_register(1, 5);
  bench.say(1, native::Handler{"where", {}});
  for (std::uint32_t token = 1; token <= NativeRequests::kMaxUnread; ++token)
    bench.server.request(5, payload(token, "where"), bench.outputs);
  CHECK(failure(bench).empty());
  bench.server.request(5, payload(5000, "where"), bench.outputs);
  CHECK(failure(bench) == "process 5 has too many requests waiting");
  SECTION("answered") {
    bench.say(1, native::Reply{1, 0, ""});
  }
  SECTION("kept") {
    bench.say(1, native::Kept{1});
  }
  bench.forget();
  bench.server.request(5, payload(5001, "where"), bench.outputs);
  CHECK(failure(bench).empty());
}

TEST_CASE("of the requests that a process keeps the oldest are given up", "[native]") {
  Bench bench;
  bench.join_and_register(1, 5);
  bench.say(1, native::Handler{"where", {}});
  for (std::uint32_t token = 1; token <= NativeRequests::kMaxKept + 3; ++token) {
    bench.server.request(5, payload(token, "where"), bench.outputs);
    bench.say(1, native::Kept{token});
    if (token == 1) bench.say(1, native::Reply{1, 2, "ok"});
  }
  const auto answers = bench.all<RequestAnswered>();
  REQUIRE(answers.size() == 3);
  CHECK(answers[0].bytes == "ok");
  CHECK((answers[1].token == 2 && answers[2].token == 3));
  CHECK(answers[2].failure == "process 5 keeps too many requests unanswered");
  bench.forget();
  bench.say(1, native::Reply{2, 7, "too"});  // late: nobody waits for it
  bench.say(1, native::ReplyData{"late"});
  CHECK(bench.all<RequestAnswered>().empty());
  CHECK_FALSE(bench.closed(1));
}

TEST_CASE("a reply to what was given up is nobody's, and does no harm", "[native]") {
  Bench bench;
  bench.join_and_register(1, 5);
  bench.say(1, native::Handler{"where", {}});
  bench.server.request(5, payload(1, "where"), bench.outputs);
  bench.say(1, native::Reply{9, 7, "too"});
  bench.say(1, native::ReplyData{"late"});
  bench.say(1, native::Reply{1, 2, "ok"});
  CHECK_FALSE(bench.closed(1));
  REQUIRE(bench.all<RequestAnswered>().size() == 1);
  CHECK(bench.all<RequestAnswered>()[0].bytes == "ok");
}

TEST_CASE("who replies with more than it said, or in between, is dropped", "[native]") {
  Bench bench;
  bench.join_and_register(1, 5);
  bench.say(1, native::Handler{"where", {}});
  bench.server.request(5, payload(1, "where"), bench.outputs);
  SECTION("data of no reply") {
    bench.say(1, native::ReplyData{"more"});
  }
  SECTION("too much data") {
    bench.say(1, native::Reply{1, 5, "four"});
    bench.say(1, native::ReplyData{"four"});
  }
  SECTION("another reply before the end of one") {
    bench.say(1, native::Reply{1, 5, "four"});
    bench.say(1, native::Reply{1, 0, ""});
  }
  CHECK(bench.closed(1));
  CHECK(bench.all<ClientLost>().size() == 1);
}

TEST_CASE("who has registered and not ended is told of lost processes", "[native]") {
  Bench bench;
  bench.join_and_register(1, 4);
  bench.join_and_register(2, 5);
  bench.join(3, 6);
  bench.say(2, native::Finalize{0});
  bench.forget();
  bench.server.lost({{0, 2}, {9, 9}}, bench.outputs);
  REQUIRE(bench.said_to(1).size() == 1);
  CHECK(bench.said_to(1)[0] == native::FromLauncher{native::Lost{{{0, 2}, {9, 9}}}});
  CHECK(bench.said_to(2).empty());
  CHECK(bench.said_to(3).empty());
}

}  // namespace charmtree::native_server_test
