// SPDX-License-Identifier: Apache-2.0
#include "charmrun/view/event_log.hpp"

#include <catch2/catch.hpp>

namespace charmtree::event_log_test {

namespace {
constexpr Instant kStart{100s};
const EventLog kLog{kStart};
}  // namespace

TEST_CASE("each event is one line of JSON", "[event_log]") {
  wire::JobSpec job;
  job.id = "ab";
  job.arguments = {"./app", "two\nlines"};
  job.hosts = 2;
  job.processes = 4;
  CHECK(
      kLog.job(job, 7, kStart) ==
      R"({"event":"job","t":0.0,"format":"charmtree-events-1","job":"ab","pid":7,"command":["./app","two\nlines"],)"
      R"("hosts":2,"processes":4})"
      "\n");
  CHECK(kLog.host_up("h01", kStart + 1500ms) == "{\"event\":\"host_up\",\"t\":1.5,\"host\":\"h01\"}\n");
  CHECK(kLog.host_failed("h02", {Errc::timed_out, Phase::connect, "no answer", "is it on?"}, kStart + 2s,
                         kStart + 3s) ==
        "{\"event\":\"host_failed\",\"t\":3.0,\"host\":\"h02\",\"phase\":\"connect\",\"error\":\"no answer\","
        "\"fix\":\"is it on?\",\"at\":2.0}\n");
  CHECK(kLog.lost({{{2, 3}, {7, 7}}, 1, "connection reset", {}}, "h02", kStart) ==
        "{\"event\":\"lost\",\"t\":0.0,\"processes\":[[2,3],[7,7]],\"host\":\"h02\",\"how\":\"connection "
        "reset\"}\n");
  CHECK(kLog.stage({proto::Stage::start, 2, 2, 0, 4, 1, 0, {}, 0}, kStart) ==
        "{\"event\":\"stage\",\"t\":0.0,\"stage\":\"start\",\"hosts\":2,\"hosts_up\":2,\"hosts_failed\":0,"
        "\"processes\":4,\"registered\":1,\"ended\":0,\"lost\":0,\"silent\":0}\n");
  using State = wire::Silence::State;
  CHECK(kLog.silence({5, State::stopped, 60500ms}, "h02", kStart) ==
        "{\"event\":\"process_silent\",\"t\":0.0,\"process\":5,\"host\":\"h02\",\"seconds\":60.5,\"stopped\":"
        "true}\n");
  CHECK(kLog.silence({5, State::over, 61s}, "h02", kStart) ==
        "{\"event\":\"process_serves\",\"t\":0.0,\"process\":5,\"host\":\"h02\",\"seconds\":61.0}\n");
  CHECK(kLog.message(proto::Tone::error, "bad \"thing\"", kStart) ==
        "{\"event\":\"message\",\"t\":0.0,\"tone\":\"error\",\"text\":\"bad \\\"thing\\\"\"}\n");
  CHECK(
      kLog.process_end({5, 1, {proto::EndKind::killed, 11}, "killed by signal 11"}, "h02", kStart) ==
      "{\"event\":\"process_end\",\"t\":0.0,\"process\":5,\"host\":\"h02\",\"end\":\"killed\",\"status\":139,"
      "\"signal\":11,\"how\":\"killed by signal 11\"}\n");
  proto::ProcessEnds ends;
  ends.add_others({proto::EndKind::well}, 100'000);
  CHECK(kLog.ends(ends, kStart) ==
        "{\"event\":\"ends\",\"t\":0.0,\"ends\":[{\"end\":\"well\",\"status\":0,\"number\":100000,"
        "\"processes\":[[0,99999]]}]}\n");
  CHECK(kLog.end({3, 0, {proto::Cause::exit, 2, 1, "exited with status 3", {}}}, "h01", kStart) ==
        "{\"event\":\"end\",\"t\":0.0,\"status\":3,\"signal\":0,\"cause\":\"exit\",\"process\":2,"
        "\"how\":\"exited with status 3\",\"host\":\"h01\"}\n");
  CHECK(kLog.end({0, 2, {proto::Cause::user_signal}}, {}, kStart) ==
        "{\"event\":\"end\",\"t\":0.0,\"status\":130,\"signal\":2,\"cause\":\"signal\"}\n");
}

TEST_CASE(
    "times of events never run backwards; output has that of its host as well; bytes that are no text do not "
    "break a line",
    "[event_log]") {
  proto::Show show;
  show.host = "h03";
  show.output.process = 5;
  show.output.stream = 2;
  show.output.text = "a\xff\n";
  show.output.read = kStart + 250ms;
  CHECK(kLog.output(show, kStart + 9s) ==
        "{\"event\":\"output\",\"t\":9.0,\"process\":5,\"host\":\"h03\",\"stream\":\"stderr\",\"text\":"
        "\"a\xEF\xBF\xBD\\n\",\"at\":0.25}\n");
}

TEST_CASE("events go to a file, stdout or an open descriptor", "[event_log]") {
  CHECK(event_place("x.json")->path == "x.json");
  CHECK(event_place("x.json")->fd == -1);
  CHECK(event_place("-")->fd == 1);
  CHECK(event_place("fd:7")->fd == 7);
  for (const char* wrong : {"fd:", "fd:x", "fd:-1", "fd:7x", "fd:1024"}) CHECK_FALSE(event_place(wrong).ok());
}

}  // namespace charmtree::event_log_test
