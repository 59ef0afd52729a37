// SPDX-License-Identifier: Apache-2.0
#include "tree/job/output_lines.hpp"

#include <catch2/catch.hpp>

namespace charmtree::output_lines_test {

using namespace charmtree::proto;
using wire::Tail;

namespace {

constexpr Instant kNow{1s};

struct Process {
  Process() {
    job.processes = 2;
    job.output.partial_line = {100ms, 5s};
  }
  OutputLines::Way way() { return {job, 7, up}; }
  void says(std::string_view bytes, Stream stream = Stream::out, bool receipt = false) {
    lines.append(stream, bytes, receipt, kNow, way());
  }
  std::vector<wire::Output> sent() {
    std::vector<wire::Output> outputs;
    for (wire::Message& message : up) outputs.push_back(get<wire::Output>(std::move(message)));
    up.clear();
    return outputs;
  }
  wire::JobSpec job;
  OutputLines lines;
  std::vector<wire::Message> up;
};

}  // namespace

TEST_CASE("lines go up with their process, stream and time", "[output_lines]") {
  Process process;
  process.says("a\nb", Stream::err);
  const auto sent = process.sent();
  REQUIRE(sent.size() == 1);
  CHECK((sent[0].process == 7 && sent[0].stream == 2 && sent[0].text == "a\n" && sent[0].read == kNow));
}

TEST_CASE("each stream has its own patience with partial lines", "[output_lines]") {
  Process process;
  process.says("a");
  process.says("b", Stream::err);
  CHECK(process.lines.next_deadline() == kNow + 100ms);
  process.lines.tick(kNow + 100ms, process.way());
  auto sent = process.sent();
  REQUIRE(sent.size() == 1);
  CHECK((sent[0].text == "a" && sent[0].tail == Tail::waited));
  CHECK(process.lines.next_deadline() == kNow + 5s);
}

TEST_CASE("what somebody waits for is a prompt", "[output_lines]") {
  Process process;
  process.says("name? ");
  process.lines.flush(Tail::prompt, process.way());
  auto sent = process.sent();
  REQUIRE(sent.size() == 1);
  CHECK((sent[0].text == "name? " && sent[0].tail == Tail::prompt));
  process.lines.flush(Tail::prompt, process.way());
  CHECK(process.sent().empty());
  process.says("a\nb", Stream::out, true);
  sent = process.sent();
  REQUIRE(sent.size() == 2);
  CHECK((sent[0].text == "a\n" && !sent[0].wants_receipt));
  CHECK((sent[1].text == "b" && sent[1].wants_receipt && sent[1].tail == Tail::prompt));
  process.says("", Stream::out, true);
  CHECK(process.sent().size() == 1);  // who waits gets an answer
}

TEST_CASE("the end of a stream ends its line, even one that has been passed on", "[output_lines]") {
  Process process;
  process.says("AB");
  process.lines.tick(kNow + 100ms, process.way());
  process.says("rest", Stream::err);
  (void)process.sent();
  process.lines.flush(Tail::ended, process.way());
  const auto sent = process.sent();
  REQUIRE(sent.size() == 2);
  CHECK((sent[0].text.empty() && sent[0].tail == Tail::ended && sent[0].stream == 1));
  CHECK((sent[1].text == "rest" && sent[1].tail == Tail::ended && sent[1].stream == 2));
  process.lines.flush(Tail::ended, process.way());
  CHECK(process.sent().empty());
}

TEST_CASE("raw bytes go up as they come: of one process, or if the job wants it", "[output_lines]") {
  Process process;
  SECTION("one process") {
    process.job.processes = 1;
  }
  SECTION("++raw") {
    process.job.output.raw = true;
  }
  process.says("AB");
  process.says("CD");
  const auto sent = process.sent();
  REQUIRE(sent.size() == 2);
  CHECK(sent[1].text == "CD");
  CHECK(process.lines.next_deadline() == kNever);
  process.lines.flush(Tail::ended, process.way());
  CHECK(process.sent().empty());
}

TEST_CASE("labels need lines, even of one process", "[output_lines]") {
  Process process;
  process.job.processes = 1;
  process.job.output.labelled = true;
  process.says("AB");
  CHECK(process.sent().empty());
}

}  // namespace charmtree::output_lines_test
