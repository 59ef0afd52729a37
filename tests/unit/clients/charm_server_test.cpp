// SPDX-License-Identifier: Apache-2.0
#include "tree/clients/charm_server.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <utility>

#include "tests/unit/charm_capture.hpp"
#include "tree/clients/pending_connections.hpp"
#include "tree/wire/messages.hpp"

namespace charmtree::charm_server_test {

using namespace charmtree::proto;
using namespace charm_capture;
using wire::make_charm_message;

namespace {

Instant at(Duration since_start) {
  return Instant{since_start};
}

std::string initnode(std::uint32_t number, std::uint32_t port = 1000) {
  return header("00000028", "initnode") +
         hex(fmt::format(
             "{:08x} 00000002 00000002 00000001 00000000 00000000 00000000 {:08x} 00000000 c0000202", number,
             port));
}

/// Of Charm++ 6.8.
std::string old_initnode(std::uint32_t number) {
  return header("00000018", "initnode") +
         hex(fmt::format("{:08x} 00000001 000003e8 00000000 00000000 c0000202", number));
}

std::string text(std::string_view type, std::string_view bytes) {
  return make_charm_message(type, std::string{bytes} + '\0');
}

/// Client ids are 100 + process number unless a test says otherwise.
ClientId client_of(std::uint32_t process) {
  return 100 + process;
}

/// A server with its outputs, sorted by kind, as a test wants to look at them.
class Fixture {
public:
  explicit Fixture(LocalProcesses local, CharmLimits limits = {}) : server{local, limits}, local_(local) {}

  void opened(ClientId client, Duration now = 0s) { server.opened(client, at(now), outputs); }
  void received(ClientId client, std::string_view bytes, Duration now = 0s) {
    server.received(client, bytes, at(now), outputs);
  }
  void says(std::uint32_t process, std::string_view bytes, Duration now = 0s) {
    received(client_of(process), bytes, now);
  }
  void closed(ClientId client) { server.closed(client, at(0s), outputs); }

  /// Every local process connects and registers; its outputs are forgotten.
  void register_all() {
    for (std::uint32_t i = local_.first; i < local_.first + local_.count; ++i) {
      opened(client_of(i));
      says(i, initnode(i));
    }
    outputs.clear();
  }
  /// A table of `local_.total` processes with the local ones as one host.
  wire::Blob make_table(std::uint32_t pes = 1) const {
    wire::NodeTable table{0, pes, {}};
    std::uint32_t host = 0;
    const auto block = [&](std::uint32_t first, std::uint32_t count) {
      if (count > 0)
        table.blocks.push_back(
            {host++, first, 0x0a000001 + host, std::vector<wire::Tuple>(count, {1000, {}})});
    };
    block(0, local_.first);
    block(local_.first, local_.count);
    block(local_.first + local_.count, local_.total - local_.first - local_.count);
    return wire::encode(table);
  }
  void start(std::uint32_t pes = 1) {
    register_all();
    server.table(make_table(pes), outputs);
    outputs.clear();
  }

  template <class T>
  std::vector<T> take() {
    std::vector<T> found;
    for (ClientOutput& output : outputs) {
      if (auto* value = get_if<T>(&output)) found.push_back(std::move(*value));
    }
    outputs.clear();
    return found;
  }
  /// All bytes for the client, in order.
  std::string sent_to(ClientId client) {
    std::string bytes;
    for (const ClientOutput& output : outputs) {
      const auto* to = get_if<ToClient>(&output);
      if (to != nullptr && to->client == client) bytes += to->bytes + (to->tail ? *to->tail : "");
    }
    return bytes;
  }
  bool dropped(ClientId client) {
    for (const ClientOutput& output : outputs) {
      const auto* close = get_if<CloseClient>(&output);
      if (close != nullptr && close->client == client) return true;
    }
    return false;
  }

  CharmServer server;
  ClientOutputs outputs;

private:
  LocalProcesses local_;
};

const std::string kPrintdone = header("00000001", "printdone") + '\0';
const std::string kBarrier = header("00000001", "barrier") + '\0';
const std::string kBarrier0 = header("00000001", "barrier0") + '\0';

}  // namespace

TEST_CASE("two processes register and get the captured table", "[charm]") {
  Fixture f{{0, 2, 2}};
  f.opened(100);
  f.opened(101);
  f.received(101, kInitnode1);
  f.received(100, kInitnode0);
  const auto registered = f.take<Registered>();
  REQUIRE(registered.size() == 2);
  CHECK(registered[0].process == 1);
  CHECK(registered[0].tuple == wire::Tuple{0xbee5, {}});
  CHECK(registered[1].process == 0);
  CHECK(registered[1].tuple == wire::Tuple{0xa4b9, {}});

  f.server.table(wire::encode(wire::NodeTable{0, 1, {{0, 0, 0x7f000001, {{0xa4b9, {}}, {0xbee5, {}}}}}}),
                 f.outputs);
  CHECK(f.sent_to(100) == kTable0);
  CHECK(f.sent_to(101) == kTable1);
}

TEST_CASE("the engine hears of a table before the table is written", "[charm]") {
  Fixture f{{0, 1, 1}};
  f.register_all();

  f.server.table(f.make_table(), f.outputs);

  REQUIRE(f.outputs.size() == 2);
  CHECK(get<TableDelivered>(f.outputs[0]).process == 0);
  CHECK(get<ToClient>(f.outputs[1]).client == 100);
  f.outputs.clear();
  f.server.table(f.make_table(), f.outputs);
  CHECK(f.outputs.empty());  // a second table would make a stock client abort
}

TEST_CASE("an initnode may come byte by byte and with more behind it", "[charm]") {
  Fixture f{{3, 1, 8}};
  f.opened(7);
  const std::string bytes = initnode(3) + text("print", "early");
  for (const char c : bytes) f.received(7, {&c, 1});
  REQUIRE(f.outputs.size() == 2);
  CHECK(get<Registered>(f.outputs[0]).process == 3);
  CHECK(get<Printed>(f.outputs[1]).text == "early");
}

TEST_CASE("a print loses exactly its last NUL", "[charm]") {
  Fixture f{{0, 1, 1}};
  f.start();

  f.says(0, make_charm_message("print", std::string_view{"a\0b\n\0\0", 6}) + text("printerr", "e") +
                make_charm_message("print", "no NUL") + make_charm_message("print"));

  const auto printed = f.take<Printed>();
  REQUIRE(printed.size() == 4);
  CHECK(printed[0].text == std::string_view{"a\0b\n\0", 5});
  CHECK(printed[0].stream == Stream::out);
  CHECK_FALSE(printed[0].wants_receipt);
  CHECK(printed[1].text == "e");
  CHECK(printed[1].stream == Stream::err);
  CHECK(printed[2].text == "no NUL");
  CHECK(printed[3].text.empty());
}

TEST_CASE("a synchronous print is acknowledged when it has been written", "[charm]") {
  Fixture f{{0, 2, 2}};
  f.start();
  f.says(1, text("printerrsyn", "now"));
  const auto printed = f.take<Printed>();
  REQUIRE(printed.size() == 1);
  CHECK(printed[0].wants_receipt);
  CHECK(printed[0].stream == Stream::err);
  CHECK(printed[0].process == 1);

  f.server.printed(0, f.outputs);
  CHECK(f.outputs.empty());
  f.server.printed(1, f.outputs);
  CHECK(f.sent_to(101) == kPrintdone);
  f.outputs.clear();
  f.server.printed(1, f.outputs);
  CHECK(f.outputs.empty());
}

TEST_CASE("a scanf is answered with one line of text", "[charm]") {
  Fixture f{{0, 1, 1}};
  f.start();
  f.says(0, text("scanf", "%d %d"));
  const auto scans = f.take<ScanRequested>();
  REQUIRE(scans.size() == 1);
  CHECK(scans[0].format == "%d %d");

  f.server.scanned(0, "1\n2", f.outputs);
  CHECK(f.sent_to(100) == header("00000004", "scanf-data") + std::string{"1 2\0", 4});
  f.outputs.clear();
  f.server.scanned(0, "again", f.outputs);
  CHECK(f.outputs.empty());
}

TEST_CASE("nothing is written to a client between its question and the answer", "[charm]") {
  Fixture f{{0, 2, 2}};
  f.start();
  f.says(0, make_charm_message("barrier") + text("barrier0", "0") + text("scanf", "%d"));
  f.says(1, make_charm_message("barrier") + text("barrier0", "1"));
  CHECK(f.take<BarrierEntered>().size() == 4);

  f.server.release(BarrierKind::all, f.outputs);
  f.server.release(BarrierKind::root, f.outputs);
  CHECK(f.sent_to(100).empty());
  CHECK(f.sent_to(101) == kBarrier);
  f.outputs.clear();

  f.server.scanned(0, "5", f.outputs);
  CHECK(f.sent_to(100) == header("00000002", "scanf-data") + std::string{"5\0", 2} + kBarrier + kBarrier0);
}

TEST_CASE("a table that comes while a client waits for a reply follows the reply", "[charm]") {
  Fixture f{{0, 1, 1}};
  f.register_all();
  f.says(0, text("printsyn", "x"));
  f.outputs.clear();

  f.server.table(f.make_table(), f.outputs);
  CHECK(f.outputs.empty());

  f.server.printed(0, f.outputs);
  CHECK(f.sent_to(100).substr(0, 17) == kPrintdone);
  CHECK(f.sent_to(100).substr(17, 16) == header("00000020", "initnodetab"));
}

TEST_CASE("a second question before the answer breaks the protocol", "[charm]") {
  Fixture f{{0, 1, 1}};
  f.start();
  f.says(0, text("printsyn", "x") + text("scanf", "%d"));
  CHECK(f.dropped(100));
  const auto lost = f.take<ClientLost>();
  REQUIRE(lost.size() == 1);
  CHECK(lost[0].why.find("scanf") != std::string::npos);
}

TEST_CASE("a barrier is released to all, a barrier0 to process 0 only", "[charm]") {
  Fixture f{{0, 2, 2}};
  f.start();
  for (std::uint32_t process : {0, 1}) f.says(process, make_charm_message("barrier") + text("barrier0", "9"));
  const auto entered = f.take<BarrierEntered>();
  REQUIRE(entered.size() == 4);
  CHECK(entered[0].kind == BarrierKind::all);
  CHECK(entered[1].kind == BarrierKind::root);

  f.server.release(BarrierKind::all, f.outputs);
  CHECK(f.sent_to(100) == kBarrier);
  CHECK(f.sent_to(101) == kBarrier);
  f.outputs.clear();
  f.server.release(BarrierKind::root, f.outputs);
  CHECK(f.sent_to(100) == kBarrier0);
  CHECK(f.sent_to(101).empty());
}

TEST_CASE("a release that a client does not wait for is kept from it", "[charm]") {
  Fixture f{{0, 2, 2}};
  f.start();
  f.says(0, make_charm_message("barrier"));
  f.outputs.clear();
  f.server.release(BarrierKind::all, f.outputs);
  CHECK(f.sent_to(100) == kBarrier);
  CHECK(f.sent_to(101).empty());
}

TEST_CASE("a process that runs ahead is counted once in each round", "[charm]") {
  CharmLimits limits;
  limits.barriers_ahead = 2;
  Fixture f{{0, 2, 2}, limits};
  f.start();
  f.says(1, text("barrier0", "1") + text("barrier0", "1") + text("barrier0", "1"));
  CHECK(f.take<BarrierEntered>().size() == 1);

  f.server.release(BarrierKind::root, f.outputs);
  CHECK(f.take<BarrierEntered>().size() == 1);
  f.server.release(BarrierKind::root, f.outputs);
  CHECK(f.take<BarrierEntered>().size() == 1);
  f.server.release(BarrierKind::root, f.outputs);
  CHECK(f.take<BarrierEntered>().empty());

  for (int i = 0; i < 4; ++i) f.says(1, text("barrier0", "1"));
  CHECK(f.dropped(101));
  CHECK(f.take<ClientLost>().size() == 1);
}

TEST_CASE("pings are swallowed", "[charm]") {
  Fixture f{{0, 1, 1}};
  f.start();
  for (int i = 0; i < 1000; ++i) f.says(0, make_charm_message("ping"));
  CHECK(f.outputs.empty());
}

TEST_CASE("an ending carries the code of the program", "[charm]") {
  Fixture f{{4, 3, 9}};
  f.start();
  f.says(4, text("ending", "42"));
  f.says(5, make_charm_message("ending"));
  f.says(6, text("ending", "-1"));
  const auto ended = f.take<Ended>();
  REQUIRE(ended.size() == 3);
  CHECK(ended[0].process == 4);
  CHECK(ended[0].code == 42);
  CHECK(ended[1].code == 0);
  CHECK(ended[2].code == -1);
}

TEST_CASE("an SMP process ends once, after the ending of its last PE", "[charm]") {
  Fixture f{{0, 2, 2}};
  f.start(4);
  f.says(0, text("ending", "0") + text("ending", "0") + text("ending", "7"));
  CHECK(f.take<Ended>().empty());
  f.says(0, text("ending", "9") + text("ending", "0"));
  const auto ended = f.take<Ended>();
  REQUIRE(ended.size() == 1);
  CHECK(ended[0].process == 0);
  CHECK(ended[0].code == 7);  // the first that is not 0
}

TEST_CASE("an SMP process that sends too few endings ends all the same", "[charm]") {
  Fixture f{{0, 2, 2}};
  f.start(4);
  f.says(0, text("ending", "0"), 5s);
  CHECK(f.server.next_deadline() == at(6s));
  f.server.tick(at(5900ms), f.outputs);
  CHECK(f.outputs.empty());
  f.server.tick(at(6s), f.outputs);
  CHECK(f.take<Ended>().size() == 1);
  CHECK(f.server.next_deadline() == kNever);

  f.says(1, text("ending", "3"), 7s);
  f.closed(101);
  const auto ended = f.take<Ended>();
  REQUIRE(ended.size() == 1);
  CHECK(ended[0].code == 3);
}

TEST_CASE("after its ending a process may print, but its abort and its leaving mean nothing", "[charm]") {
  Fixture f{{0, 1, 1}};
  f.start();
  f.says(0, text("ending", "0"));
  f.outputs.clear();

  f.says(0, text("print", "bye") + text("printsyn", "really"));
  CHECK(f.take<Printed>().size() == 2);
  f.server.printed(0, f.outputs);
  CHECK(f.sent_to(100) == kPrintdone);
  f.outputs.clear();

  f.says(0, text("abort", "ERROR> Unrecognized message from charmrun.") + text("ending", "5"));
  CHECK(f.outputs.empty());
  f.closed(100);
  CHECK(f.outputs.empty());
}

TEST_CASE("an abort is reported once with its text", "[charm]") {
  Fixture f{{0, 1, 1}};
  f.start();
  f.says(0, text("abort", "Fatal error on PE 0> out of luck") + text("abort", "again"));
  const auto aborted = f.take<Aborted>();
  REQUIRE(aborted.size() == 1);
  CHECK(aborted[0].code == 1);
  CHECK(aborted[0].text == "Fatal error on PE 0> out of luck");
}

TEST_CASE("a connection that ends before the ending is a lost client", "[charm]") {
  Fixture f{{0, 2, 2}};
  f.start();
  f.says(0, make_charm_message("print", "cut off").substr(0, 20));
  f.closed(100);
  const auto lost = f.take<ClientLost>();
  REQUIRE(lost.size() == 1);
  CHECK(lost[0].process == 0);
  CHECK(lost[0].why == "closed its connection without `ending`");

  f.server.release(BarrierKind::all, f.outputs);
  f.server.printed(0, f.outputs);
  CHECK(f.outputs.empty());
}

TEST_CASE("an unknown message loses its client and nobody else", "[charm]") {
  Fixture f{{0, 2, 2}};
  f.start();
  f.says(0, make_charm_message("partinit", "abc"));
  CHECK(f.dropped(100));
  CHECK_FALSE(f.dropped(101));
  const auto lost = f.take<ClientLost>();
  REQUIRE(lost.size() == 1);
  CHECK(lost[0].why == "sent a message of unknown type `partinit`");
  f.says(0, text("print", "ghost"));
  CHECK(f.outputs.empty());
  f.says(1, text("print", "alive"));
  CHECK(f.take<Printed>().size() == 1);
}

TEST_CASE("garbage, strangers and duplicates are dropped with one note for each kind", "[charm]") {
  Fixture f{{2, 2, 8}};
  f.register_all();
  ClientId next = 1000;
  std::size_t dropped = 0, notes = 0;
  for (int round = 0; round < 3; ++round) {
    const std::vector<std::string> nuisances{"GET / HTTP/1.1\r\nHost: x\r\n",
                                             old_initnode(2),
                                             initnode(1),
                                             initnode(4),
                                             initnode(0xffffffff),
                                             initnode(2),
                                             initnode(3, 70'000),
                                             std::string(70'000, '\xFF')};
    for (const std::string& bytes : nuisances) {
      f.opened(next);
      f.received(next, bytes);
      dropped += f.dropped(next) ? 1 : 0;
      CHECK(f.take<Registered>().empty());
      ++next;
      f.opened(next);
      f.received(next, bytes);
      notes += f.take<ClientNote>().size();
      ++next;
    }
  }
  CHECK(dropped == 24);
  CHECK(notes <= 8);
  f.says(2, text("print", "undisturbed"));
  CHECK(f.take<Printed>().size() == 1);
}

TEST_CASE("a process of an old Charm++ is refused, once, and nobody else", "[charm]") {
  Fixture f{{0, 2, 2}};
  for (const ClientId client : {1, 2, 3, 4}) f.opened(client);
  f.received(1, initnode(0));
  f.outputs.clear();
  f.received(2, old_initnode(1));
  CHECK(f.dropped(2));
  const auto refused = f.take<Refused>();
  REQUIRE(refused.size() == 1);
  CHECK(refused[0].process == 1);
  CHECK(refused[0].why == "this program is Charm++ 6.8 or older; build it with 6.9 or newer");

  f.received(3, old_initnode(0));
  CHECK(f.dropped(3));
  CHECK(f.take<ClientNote>().size() == 1);
  f.received(4, old_initnode(7));
  CHECK(f.take<Refused>().empty());
  f.received(1, text("print", "undisturbed"));
  CHECK(f.take<Printed>().size() == 1);
}

TEST_CASE("a connection that stays silent is dropped in time", "[charm]") {
  Fixture f{{0, 1, 1}};
  f.opened(1, 3s);
  f.opened(2, 4s);
  f.received(1, initnode(0).substr(0, 55), 5s);
  CHECK(f.server.next_deadline() == at(13s));
  f.server.tick(at(12s), f.outputs);
  CHECK(f.outputs.empty());

  f.server.tick(at(13s), f.outputs);
  CHECK(f.dropped(1));
  CHECK_FALSE(f.dropped(2));
  CHECK(f.server.next_deadline() == at(14s));
  f.outputs.clear();

  f.received(2, initnode(0), 13s);
  CHECK(f.take<Registered>().size() == 1);
  CHECK(f.server.next_deadline() == kNever);
}

TEST_CASE("a flood of silent connections does not keep a process out", "[charm]") {
  CharmLimits limits;
  limits.spare_connections = 8;
  Fixture f{{0, 2, 2}, limits};
  std::size_t dropped = 0, notes = 0;
  for (ClientId client = 1000; client < 2000; ++client) {
    f.opened(client);
    dropped += f.dropped(client - 10) ? 1 : 0;
    notes += f.take<ClientNote>().size();
  }
  CHECK(dropped == 990);  // the oldest goes: ten may stay
  CHECK(notes == 1);
  f.opened(100);
  f.outputs.clear();
  f.says(0, initnode(0));
  CHECK(f.take<Registered>().size() == 1);
}

TEST_CASE("a process registers once, even after its connection is lost", "[charm]") {
  Fixture f{{0, 1, 1}};
  f.register_all();
  f.closed(100);
  f.outputs.clear();
  f.opened(1);
  f.received(1, initnode(0));
  CHECK(f.dropped(1));
  CHECK(f.take<Registered>().empty());
}

TEST_CASE("at the end those that have ended are let go and the others are told to die", "[charm]") {
  Fixture f{{0, 3, 3}};
  f.start();
  f.opened(7);
  f.says(0, text("ending", "0"));
  f.says(2, text("scanf", "%d"));
  f.outputs.clear();

  f.server.finish(f.outputs);
  CHECK(f.sent_to(100).empty());
  CHECK(f.sent_to(101).substr(0, 16) == header("00000011", "die"));
  CHECK(f.sent_to(102).empty());  // it would take it for its input
  for (ClientId client : {100, 101, 102, 7}) CHECK(f.dropped(client));
  f.outputs.clear();

  f.server.finish(f.outputs);
  CHECK(f.outputs.empty());
  f.opened(8);
  CHECK(f.dropped(8));
}

TEST_CASE("a pending keeps its newest connections", "[pending]") {
  PendingConnections pending{2, 10s};
  CHECK_FALSE(pending.enter(1, at(0s)));
  CHECK_FALSE(pending.enter(2, at(1s)));
  CHECK(pending.enter(3, at(2s)) == 1);
  pending.leave(2);
  pending.leave(2);
  CHECK_FALSE(pending.enter(4, at(3s)));
  CHECK(pending.next_deadline() == at(12s));
  CHECK_FALSE(pending.expire(at(11s)));
  CHECK(pending.expire(at(12s)) == 3);
  CHECK_FALSE(pending.expire(at(12s)));
}

}  // namespace charmtree::charm_server_test
