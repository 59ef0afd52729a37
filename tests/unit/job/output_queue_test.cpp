// SPDX-License-Identifier: Apache-2.0
#include "tree/job/output_queue.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <map>
#include <tuple>

#include "tree/job/output_grants.hpp"

namespace charmtree::output_queue_test {

using namespace charmtree::proto;

namespace {

constexpr std::uint64_t kPlenty = std::uint64_t{1} << 40;

wire::Output lines(std::uint32_t process, std::string text) {
  return {process, 1, false, std::move(text), wire::Tail::waited, kNever};
}

/// A queue with a file that answers when it is asked to.
struct Bench {
  explicit Bench(std::uint64_t credit, std::uint64_t spool = 1U << 30) : queue(credit, spool) {}
  OutputQueue queue;
  Actions out;
  std::map<std::uint64_t, std::string> file;
  std::size_t at = 0;

  void work() {
    for (; at < out.size(); ++at) {
      if (const auto* write = get_if<SpoolWrite>(&out[at])) {
        file[write->offset] = *write->bytes;
        queue.on(Spooled{});
      } else if (const auto* read = get_if<SpoolRead>(&out[at])) {
        CHECK(queue.on(Unspooled{file.at(read->offset)}));
      }
    }
  }
  /// All that may be sent, by process.
  std::map<std::uint32_t, std::string> drain() {
    std::map<std::uint32_t, std::string> text;
    for (bool any = true; any; work()) {
      any = false;
      while (const auto next = queue.next(out)) {
        any = true;
        const auto& output = get<wire::Output>(next->message);
        text[output.process] += output.text;
      }
      any = any || at < out.size();
    }
    return text;
  }
};

}  // namespace

TEST_CASE("output waits for credit, and one output may exceed it") {
  Bench b{1};
  b.queue.add(lines(0, std::string(1000, 'x')), b.out);
  b.queue.add(lines(0, "second\n"), b.out);
  const auto first = b.queue.next(b.out);
  REQUIRE(first);
  CHECK(first->cost == output_cost(first->message));
  CHECK_FALSE(b.queue.next(b.out));
  CHECK(b.queue.blocked());
  b.queue.credit(first->cost - 1);
  CHECK_FALSE(b.queue.next(b.out));
  b.queue.credit(1);
  REQUIRE(b.queue.next(b.out));
  CHECK(b.queue.empty());
  CHECK_FALSE(b.queue.blocked());
}

TEST_CASE("this host and those below take turns") {
  Bench b{kPlenty};
  for (int i = 0; i < 3; ++i) {
    b.queue.add(lines(0, "own\n"), b.out);
    b.queue.add(7, lines(1, "below\n"));
  }
  std::string order;
  while (const auto next = b.queue.next(b.out)) order += next->from ? 'b' : 'o';
  CHECK((order == "obobob" || order == "bobobo"));
}

TEST_CASE("long output is divided where lines end, and a line is not") {
  Bench b{kPlenty};
  const std::string line(40000, 'x'), long_line(100000, 'y');
  wire::Output output = lines(3, line + "\n" + line + "\n" + long_line + "\n" + "rest");
  output.wants_receipt = true;
  output.tail = wire::Tail::prompt;
  b.queue.add(output, b.out);
  std::vector<wire::Output> pieces;
  while (auto next = b.queue.next(b.out)) pieces.push_back(get<wire::Output>(next->message));
  REQUIRE(pieces.size() == 4);
  CHECK(pieces[0].text == line + "\n");
  CHECK(pieces[2].text == long_line + "\n");
  CHECK(pieces[3].text == "rest");
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(pieces[i].wants_receipt == (i == 3));
    CHECK(pieces[i].tail == (i == 3 ? wire::Tail::prompt : wire::Tail::waited));
  }
}

TEST_CASE(
    "what exceeds the share is spooled; every process's output comes back in order, scanf in its place") {
  Bench b{0};
  std::map<std::uint32_t, std::string> said;
  for (std::uint32_t i = 0; i < 40000; ++i) {
    const std::string line = fmt::format("{:06} {}\n", i, std::string(100 + i % 100, 'z'));
    b.queue.add(lines(i % 3, line), b.out);
    said[i % 3] += line;
    if (i % 1000 == 0) b.work();
  }
  b.queue.add(wire::ScanUp{1, "%d"}, b.out);
  b.work();
  CHECK(b.file.size() > 10);
  CHECK(b.queue.spool().unwritten() < Spool::kChunk + 1000);
  CHECK(b.queue.pipes_rest());
  CHECK_FALSE(b.queue.clients_rest());
  b.queue.credit(kPlenty);
  std::map<std::uint32_t, std::string> came;
  bool scanned = false;
  for (int idle = 0; idle < 2; b.work()) {
    ++idle;
    while (const auto next = b.queue.next(b.out)) {
      idle = 0;
      REQUIRE_FALSE(scanned);
      if (const auto* output = get_if<wire::Output>(&next->message))
        came[output->process] += output->text;
      else
        scanned = get<wire::ScanUp>(next->message).process == 1;
    }
  }
  CHECK(scanned);
  CHECK(came == said);
  CHECK(b.queue.empty());
  CHECK_FALSE(b.queue.pipes_rest());
}

TEST_CASE("clients that print rest while the spool is full, until half of what is in memory has gone") {
  Bench b{0, 0};
  std::size_t printed = 0;
  for (; !b.queue.clients_rest(); ++printed) b.queue.add(lines(0, std::string(1000, 'p')), b.out);
  CHECK(b.queue.spool().is_full());
  const std::size_t most = OutputQueue::kShare + Spool::kMostUnwritten;
  CHECK(printed * 1000 > most / 2);
  CHECK(printed * 1000 < most);
  b.queue.credit(1024 * printed / 4);
  b.drain();
  CHECK(b.queue.clients_rest());
  b.queue.credit(kPlenty);
  CHECK(b.drain()[0].size() > 0);
  CHECK_FALSE(b.queue.clients_rest());
}

TEST_CASE(
    "a child that says nothing has its first credit, one that goes on a window, all together the pool") {
  OutputGrants grants;
  std::map<LinkId, std::int64_t> credit;
  constexpr std::size_t kCost = 4000;
  constexpr LinkId kChildren = 200;
  std::int64_t in_memory = 0, most = 0;
  const auto send_all = [&](LinkId link) {
    std::vector<LinkId> sent;
    for (; credit[link] > 0; credit[link] -= kCost) {
      CHECK(grants.received(link, kCost));
      in_memory += kCost;
      most = std::max(most, in_memory);
      sent.push_back(link);
    }
    return sent;
  };
  for (LinkId link = 1; link <= kChildren; ++link) credit[link] = OutputGrants::kFirst;
  std::deque<LinkId> waiting;
  for (int round = 0; round < 200; ++round) {
    for (LinkId link = 1; link <= kChildren; ++link) {
      for (const LinkId each : send_all(link)) waiting.push_back(each);
    }
    for (std::size_t i = waiting.size() / 2 + 1; i > 0 && !waiting.empty(); --i) {
      in_memory -= kCost;
      credit[waiting.front()] += static_cast<std::int64_t>(grants.passed(waiting.front(), kCost));
      waiting.pop_front();
    }
  }
  CHECK(most <= static_cast<std::int64_t>(OutputGrants::kPool + kChildren * kCost));
  for (LinkId link = 1; link <= kChildren; ++link) CHECK(credit[link] + static_cast<std::int64_t>(kCost) > 0);
}

TEST_CASE("one child alone soon has the largest window, and one that is lost gives its own back") {
  OutputGrants grants;
  std::int64_t credit = OutputGrants::kFirst;
  for (int i = 0; i < 1000; ++i) {
    CHECK(grants.received(1, 1000));
    credit += static_cast<std::int64_t>(grants.passed(1, 1000)) - 1000;
  }
  CHECK(credit > static_cast<std::int64_t>(OutputGrants::kMost * 3 / 4 - 1000));
  CHECK(credit <= static_cast<std::int64_t>(OutputGrants::kMost));
  CHECK(grants.received(1, 1000));
  grants.lost(1);
  CHECK(grants.passed(1, 1000) == 0);
}

TEST_CASE("a child that goes on without credit is found out") {
  OutputGrants grants;
  CHECK(grants.received(1, OutputGrants::kFirst + 100'000));
  CHECK_FALSE(grants.received(1, 1));
}

TEST_CASE("with a little credit a child may send the longest output that there is, and no longer one") {
  OutputGrants grants;
  CHECK(grants.received(1, OutputGrants::kFirst - 1));
  CHECK_FALSE(grants.received(1, OutputGrants::kLargest + 1));
  CHECK(grants.received(2, OutputGrants::kFirst - 1));
  CHECK(grants.received(2, OutputGrants::kLargest));
}

TEST_CASE("bytes that have no lines go in pieces that one credit allows") {
  Bench b{kPlenty};
  wire::Output output = lines(3, std::string(1U << 20, 'x') + "\n");
  output.tail = wire::Tail::prompt;
  b.queue.add(output, b.out);
  std::string all;
  while (auto next = b.queue.next(b.out)) {
    CHECK(next->cost <= OutputGrants::kLargest);
    all += get<wire::Output>(next->message).text;
  }
  CHECK(all == output.text);
}

TEST_CASE("what is kept until it is taken is sent again, in order, and counts in the host's share") {
  OutputQueue queue{kPlenty, 1U << 20, OutputQueue::Keeps::until_taken};
  Actions out;
  const auto next = [&] { return get<wire::Output>(queue.next(out)->message); };
  for (const char* text : {"a\n", "b\n", "c\n"}) queue.add(lines(3, text), out);
  queue.add(lines(4, "d\n"), out);
  CHECK(next().number == 1);
  CHECK(next().number == 2);
  queue.taken({3, 1});
  CHECK_FALSE(queue.empty());
  queue.resend();
  for (const auto& [text, process, number] :
       std::vector<std::tuple<std::string, std::uint32_t, std::uint32_t>>{
           {"b\n", 3, 2}, {"c\n", 3, 3}, {"d\n", 4, 1}}) {
    const wire::Output output = next();
    CHECK(output.text == text);
    CHECK(output.process == process);
    CHECK(output.number == number);
  }
  CHECK(queue.empty());
  queue.taken({3, 3});
  queue.resend();
  CHECK(next().text == "d\n");
  queue.taken({4, 1});

  queue.add(lines(3, std::string(OutputQueue::kShare, 'x')), out);
  while (queue.next(out)) {
  }
  CHECK(queue.pipes_rest());  // the root may not have it
  queue.taken({3, UINT32_MAX});
  CHECK_FALSE(queue.pipes_rest());
}

TEST_CASE("an output is the oldest exactly if a root is known to have had all before it", "[takeover]") {
  OutputQueue queue{kPlenty, 1U << 20, OutputQueue::Keeps::until_taken};
  Actions out;
  const auto next = [&] {
    const wire::Output output = get<wire::Output>(queue.next(out)->message);
    return std::tuple{output.process, output.number, output.is_oldest};
  };
  using Sent = std::tuple<std::uint32_t, std::uint32_t, bool>;
  for (const char* text : {"a\n", "b\n", "c\n"}) queue.add(lines(3, text), out);
  queue.add(lines(4, "d\n"), out);
  CHECK(next() == Sent{3, 1, true});
  CHECK(next() == Sent{3, 2, false});
  CHECK(next() == Sent{3, 3, false});
  CHECK(next() == Sent{4, 1, true});
  queue.taken({3, 1});
  queue.resend();
  CHECK(next() == Sent{3, 2, true});
  CHECK(next() == Sent{3, 3, false});
  CHECK(next() == Sent{4, 1, true});
  queue.taken({3, 3});
  queue.taken({3, 1});  // told late, by a root that was lost
  queue.taken({4, 0});  // by one that has had nothing
  queue.add(lines(3, "e\n"), out);
  CHECK(next() == Sent{3, 4, true});
  queue.resend();
  CHECK(next() == Sent{4, 1, true});
  CHECK(next() == Sent{3, 4, true});
}

TEST_CASE("without being kept nothing is numbered", "[takeover]") {
  Bench b{kPlenty};
  b.queue.add(lines(3, "a\n"), b.out);
  const auto next = b.queue.next(b.out);
  REQUIRE(next);
  CHECK_FALSE(get<wire::Output>(next->message).is_oldest);
  CHECK(get<wire::Output>(next->message).number == 0);
}

TEST_CASE("what the root has had another way is not sent on, and what follows is known to", "[takeover]") {
  OutputQueue queue{kPlenty, 1U << 20};
  Actions out;
  std::size_t cost = 0;
  for (std::uint32_t number = 5; number <= 8; ++number) {
    wire::Output output = lines(3, "a\n");
    output.number = number;
    cost = output_cost(output);
    queue.add(7, output);
    output.process = 4;
    queue.add(8, output);
  }
  queue.add(7, wire::ScanUp{3, "%d"});
  CHECK(queue.drop_taken({{3, 6}, {9, 100}}) == std::map<LinkId, std::size_t>{{7, 2 * cost}});
  std::vector<std::tuple<std::uint32_t, std::uint32_t, bool>> sent;
  bool scans = false;
  while (const auto next = queue.next(out)) {
    const auto* output = get_if<wire::Output>(&next->message);
    if (output != nullptr) sent.emplace_back(output->process, output->number, output->is_oldest);
    scans = scans || output == nullptr;
  }
  CHECK(sent == std::vector<std::tuple<std::uint32_t, std::uint32_t, bool>>{
                    {4, 5, false}, {4, 6, false}, {3, 7, true}, {4, 7, false}, {3, 8, false}, {4, 8, false}});
  CHECK(scans);
}

}  // namespace charmtree::output_queue_test
