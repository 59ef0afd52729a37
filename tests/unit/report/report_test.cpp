// SPDX-License-Identifier: Apache-2.0
#include "charmrun/report/report.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "charmrun/report/timeline.hpp"
#include "tree/clients/client_server.hpp"

namespace charmtree::report_test {

namespace {

using Json = nlohmann::json;

LauncherRecord launcher(std::int32_t host, std::int32_t parent, std::uint32_t level, Duration begun) {
  LauncherRecord record;
  record.host = host;
  record.parent = parent;
  record.level = level;
  record.name = "n" + std::to_string(host);
  record.processes = 2;
  record.set(Mark::begun, begun);
  record.set(Mark::resolved, begun + 1ms);
  record.set(Mark::connected, begun + 3ms);
  record.set(Mark::handshaken, begun + 10ms);
  record.set(Mark::authenticated, begun + 20ms);
  record.set(Mark::executed, begun + 22ms);
  record.set(Mark::hello, begun + 30ms);
  record.set(Mark::spawned, begun + 32ms);
  record.set(Mark::registered, begun + 40ms);
  record.set(Mark::gathered, begun + 40ms);
  record.set(Mark::table, 150ms);
  return record;
}

/// Root, n0 with n2 and n3 below it, n1.
StartupRecord small_tree() {
  StartupRecord record;
  record.version = "1.2.3";
  record.program = "./app";
  record.hosts = 4;
  record.processes = 8;
  record.branching = 2;
  record.wall = 2s;
  LauncherRecord root;
  root.name = "front";
  root.set(Mark::begun, 0ms);
  root.set(Mark::gathered, 140ms);
  root.set(Mark::table, 141ms);
  record.launchers = {launcher(3, 0, 2, 60ms), launcher(1, kRootLauncher, 1, 5ms), root,
                      launcher(0, kRootLauncher, 1, 2ms), launcher(2, 0, 2, 50ms)};
  record.launchers[3].set(Mark::gathered, 101ms);
  return record;
}

StartupRecord wide_tree(std::int32_t hosts) {
  StartupRecord record;
  record.hosts = static_cast<std::uint32_t>(hosts);
  for (std::int32_t i = 0; i < hosts; ++i) {
    record.launchers.push_back(
        launcher(i, i < 10 ? kRootLauncher : i % 10, i < 10 ? 1 : 2, Duration{i * 1000}));
  }
  return record;
}

/// The small tree, whose n1 was given up before it answered, and whose n3 could not start its processes.
StartupRecord broken_tree() {
  StartupRecord record = small_tree();
  LauncherRecord& unreachable = record.launchers[1];
  unreachable.marks.fill(kNotReached);
  unreachable.attempts = 0;
  unreachable.set(Mark::failed, 6s);
  unreachable.error = "connect: timed out after 6 s; is the host up?";
  LauncherRecord& unable = record.launchers[0];
  for (const Mark mark : {Mark::spawned, Mark::registered, Mark::gathered, Mark::table})
    unable.set(mark, kNotReached);
  unable.set(Mark::hello, 3s);
  unable.set(Mark::failed, 4s);
  unable.error = "spawn: no such program";
  return record;
}

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t n = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++n;
  return n;
}

/// Enough of an XML parser to see that tags are closed in order.
bool tags_balanced(const std::string& text) {
  std::vector<std::string> open;
  for (auto at = text.find('<'); at != std::string::npos; at = text.find('<', at + 1)) {
    const auto end = text.find('>', at);
    if (end == std::string::npos) return false;
    const std::string tag = text.substr(at + 1, end - at - 1);
    if (tag.ends_with('/')) continue;
    if (!tag.starts_with('/')) {
      open.push_back(tag.substr(0, tag.find_first_of(" \n")));
      continue;
    }
    if (open.empty() || open.back() != tag.substr(1)) return false;
    open.pop_back();
  }
  return open.empty();
}

}  // namespace

TEST_CASE("fences are in the report, with what they cost", "[report]") {
  StartupRecord job = small_tree();
  const std::vector<Host> hosts;
  StartupRecorder recorder{job, hosts, Instant{} + 1s};
  const auto service = static_cast<std::uint8_t>(proto::ClientKind::pmi);
  recorder.fence_over({{service, {{0, 7}}, 1}, 52, 300, Instant{} + 1200ms, Instant{} + 1250ms});
  recorder.fence_over({{service + 1U, {{0, 1}, {4, 4}}, 2}, 0, 0, Instant{} + 1300ms, Instant{} + 1301ms});
  const auto json = Json::parse(report_json(recorder.record()));
  REQUIRE(json["fences"].size() == 2);
  CHECK(json["fences"][0] == Json::parse(R"({"service": "pmi", "number": 1, "processes": 8, "bytes": 300,
    "requests": 52, "begun": 0.2, "over": 0.25})"));
  CHECK((json["fences"][1]["service"] == "pmix" && json["fences"][1]["processes"] == 3));
  CHECK_FALSE(json["fences"][1].contains("requests"));
  CHECK(json["init"].is_null());
  recorder.initialised({Instant{} + 1150ms, Instant{} + 1190ms});
  recorder.initialised({Instant{} + 9s, Instant{} + 9s});  // of its next run
  CHECK(Json::parse(report_json(recorder.record()))["init"] ==
        Json::parse(R"({"first": 0.15, "all": 0.19})"));
  const std::string text = report_table(recorder.record(), 20);
  CHECK(count(text, "MPI_Init: the first process at 150 ms, all at 190 ms\n") == 1);
  CHECK(count(text,
              "pmi fence 1 of 8 processes: 300 bytes for each host, 50.0 ms at the root, over at 250 ms; 6.5 "
              "requests") == 1);
  for (std::size_t i = 0; i < 2 * kMostFences; ++i)
    recorder.fence_over({{service, {{0, 7}}, 3}, 0, 0, {}, {}});
  CHECK(recorder.record().fences.size() == kMostFences);
  CHECK(count(report_table(recorder.record(), 20), "  and 992 more\n") == 1);
}

TEST_CASE("how many peers processes have used is in the report, if any have", "[report]") {
  StartupRecord job = small_tree();
  job.processes = 8;
  job.end = EndRecord{};
  job.end->why.ends.add(wire::PeersUsed{8, 0, 0, 0});
  CHECK(count(report_table(job, 20), "peers used") == 0);
  job.end->why.ends = {};
  job.end->why.ends.add(wire::PeersUsed{8, 0, 4, 18});
  CHECK(count(report_table(job, 20),
              "  peers used: 2.2 of 7 by each of 8 processes, 0 at least, 4 at most\n") == 1);
  CHECK(Json::parse(report_json(job))["ending"]["peers"] ==
        Json::parse(R"({"processes": 8, "all": 18, "least": 0, "most": 4})"));
}

TEST_CASE("a launcher's start is cut into adjacent parts", "[report]") {
  const auto parts = segments(launcher(0, kRootLauncher, 1, 2ms));

  REQUIRE(parts.size() == 6);
  CHECK(parts.front().begin == 2ms);
  for (std::size_t i = 1; i < parts.size(); ++i) CHECK(parts[i].begin == parts[i - 1].end);
  CHECK(parts[0].part == Part::connect);
  CHECK(parts[1].end == 22ms);  // authenticated
  CHECK(parts[3].part == Part::processes);
  CHECK(parts[3].end == 42ms);  // registered, not spawned
  CHECK(parts.back().end == 150ms);
}

TEST_CASE("a part that was not reached gives its time to the next one", "[report]") {
  LauncherRecord local;  // started as a child process: never connects, never logs in
  local.set(Mark::begun, 1ms);
  local.set(Mark::hello, 3ms);
  local.set(Mark::spawned, 4ms);  // a plain program: never registers

  const auto parts = segments(local);

  REQUIRE(parts.size() == 2);
  CHECK(parts[0].part == Part::launcher);
  CHECK(parts[1].part == Part::processes);
  CHECK(own_time(local) == 3ms);
  CHECK(segments(LauncherRecord{}).empty());
}

TEST_CASE("a mark before an earlier one counts as the earlier one", "[report]") {
  LauncherRecord record = launcher(0, kRootLauncher, 1, 2ms);
  record.set(Mark::registered, 1ms);
  record.set(Mark::spawned, kNotReached);

  for (const auto& segment : segments(record)) CHECK(segment.begin <= segment.end);
}

TEST_CASE("launchers come in tree order, whatever their order in the record", "[report]") {
  const auto record = small_tree();
  std::vector<std::int32_t> hosts;
  for (const auto* entry : in_tree_order(record)) hosts.push_back(entry->host);

  CHECK(hosts == std::vector<std::int32_t>{kRootLauncher, 0, 2, 3, 1});
}

TEST_CASE("no launcher is left out for a wrong parent", "[report]") {
  StartupRecord record;
  record.launchers = {launcher(0, 7, 1, 0ms), launcher(1, 1, 1, 0ms), launcher(2, 3, 1, 0ms),
                      launcher(3, 2, 1, 0ms)};

  CHECK(in_tree_order(record).size() == 4);
}

TEST_CASE("the JSON report holds totals, parts and every launcher's marks", "[report]") {
  const auto text = report_json(small_tree());
  const auto json = Json::parse(text);

  CHECK(text.ends_with("}\n"));
  CHECK(json["format"] == "charmtree-startup-1");
  CHECK(json["hosts"] == 4);
  CHECK(json["startup"] == 0.15);
  CHECK(json["wall"] == 2.0);
  CHECK(json["failed"] == 0);
  CHECK(json["levels"] == 2);
  CHECK(json["parts"]["login"]["median"] == 0.017);
  CHECK(json["parts"]["subtree"]["launchers"] == 1);  // only n0 has hosts below
  REQUIRE(json["launchers"].size() == 5);
  CHECK(json["launchers"][0]["parent"].is_null());
  CHECK(json["launchers"][1]["marks"]["connected"] == 0.005);
  CHECK_FALSE(json["launchers"][1]["marks"].contains("failed"));
  CHECK_FALSE(json["launchers"][1].contains("error"));
  CHECK(json["launchers"][2]["parent"] == 0);
}

TEST_CASE("failed launchers are listed with their error, and are not in the parts", "[report]") {
  const auto json = Json::parse(report_json(broken_tree()));

  CHECK(json["failed"] == 2);
  CHECK(json["startup"] == 6.0);
  for (const auto& [name, part] : json["parts"].items()) {
    CAPTURE(name);
    CHECK(part["launchers"] == (name == "subtree" ? 1 : 2));
    CHECK(part["max"] < 1.0);
  }
  const auto& unable = json["launchers"][3];
  CHECK(unable["host"] == 3);
  CHECK(unable["error"] == "spawn: no such program");
  CHECK(unable["marks"]["failed"] == 4.0);
  CHECK(unable["parts"]["launcher"] == 2.92);  // what it did reach
  const auto& unreachable = json["launchers"][4];
  CHECK(unreachable["marks"] == Json{{"failed", 6.0}});
  CHECK(unreachable["parts"].empty());
}

TEST_CASE("failed launchers are not among the slowest of the table", "[report]") {
  const auto text = report_table(broken_tree());

  CHECK(text.find("; slowest host: n0 with 40.0 ms; 2 failed\n") != std::string::npos);
  CHECK(text.find("\n  n3") == std::string::npos);
  CHECK(text.find("\n  n2") != std::string::npos);
}

TEST_CASE("the JSON report survives any bytes in names and errors", "[report]") {
  auto record = small_tree();
  record.launchers[0].name = "n\"\xff\n";
  record.launchers[0].error = "login: \x1b[31mred\xc3";

  const auto json = Json::parse(report_json(record));

  CHECK(json["failed"] == 1);
  CHECK(json["wall"] == 2.0);
}

TEST_CASE("the report says how the job ended", "[report]") {
  auto record = small_tree();
  CHECK(Json::parse(report_json(record))["ends"].is_null());
  CHECK(Json::parse(report_json(record))["ending"].is_null());
  record.end =
      EndRecord{137, 0, {proto::Cause::killed, 5, 2, "killed by signal 9", {"last \xff", "words"}}, "n2"};
  auto ending = Json::parse(report_json(record))["ending"];
  CHECK(ending["status"] == 137);
  CHECK(ending["cause"] == "killed");
  CHECK(ending["process"] == 5);
  CHECK(ending["host"] == 2);
  CHECK(ending["name"] == "n2");
  CHECK(ending["how"] == "killed by signal 9");
  CHECK(ending["last_words"].size() == 2);
  CHECK(Json::parse(report_json(record))["ends"] == Json::array());
  record.end->why.ends.add({proto::EndKind::killed, 9}, {5, 5});
  record.end->why.ends.add_others({proto::EndKind::stopped}, 8);
  CHECK(Json::parse(report_json(record))["ends"] ==
        Json::parse(R"([{"end":"killed","status":137,"signal":9,"number":1,"processes":[[5,5]]},)"
                    R"({"end":"stopped","number":7,"processes":[[0,4],[6,7]]}])"));
  CHECK_FALSE(ending.contains("signal"));
  record.end = EndRecord{130, 2, {proto::Cause::user_signal}, ""};
  ending = Json::parse(report_json(record))["ending"];
  CHECK(ending["signal"] == 2);
  CHECK_FALSE(ending.contains("process"));
  record.end = EndRecord{};
  CHECK(Json::parse(report_json(record))["ending"] == Json({{"status", 0}, {"cause", "finished"}}));
}

TEST_CASE("a job that has not ended has no wall time", "[report]") {
  auto record = small_tree();
  record.wall = Duration{0};

  CHECK(Json::parse(report_json(record))["wall"].is_null());
}

TEST_CASE("the table lists the slowest launchers first and only so many", "[report]") {
  auto record = wide_tree(100);
  record.launchers[42].set(Mark::connected, 1s);
  for (const Mark mark :
       {Mark::handshaken, Mark::authenticated, Mark::executed, Mark::hello, Mark::spawned}) {
    record.launchers[42].set(mark, 1s);
  }

  const auto text = report_table(record);

  CHECK(count(text, "\n") == 2 + 1 + 2 + 1 + kSlowestShown);
  CHECK(text.find("slowest host: n42 with 1.000 s") != std::string::npos);
  const auto first = text.find("of 100:\n");
  REQUIRE(first != std::string::npos);
  CHECK(text.substr(first + 8, 5) == "  n42");
  for (std::size_t at = 0; at < text.size();) {
    const auto end = text.find('\n', at);
    CHECK(end - at <= 100);
    at = end + 1;
  }
}

TEST_CASE("reports of nothing are still well-formed", "[report]") {
  const StartupRecord nothing;

  CHECK(Json::parse(report_json(nothing))["launchers"].empty());
  CHECK(report_table(nothing).starts_with("Start-up of 0 hosts, 0 processes: 0.0 ms\n"));
  CHECK(tags_balanced(timeline_svg(nothing)));
  CHECK(Json::parse(timeline_trace(nothing))["traceEvents"].empty());
}

TEST_CASE("a root that has launched nothing has no table", "[report]") {
  auto record = wide_tree(1);
  record.launchers[0].host = kRootLauncher;
  CHECK(report_table(record).empty());
  record.launchers.push_back(launcher(0, kRootLauncher, 1, 0ms));
  CHECK(report_table(record).starts_with("Start-up of 1 host"));
}

TEST_CASE("times are shown with three or four digits", "[report]") {
  CHECK(human_time(1234us) == "1.2 ms");
  CHECK(human_time(99600us) == "100 ms");
  CHECK(human_time(999600us) == "1.000 s");
  CHECK(human_time(12340ms) == "12.34 s");
  CHECK(human_time(125s) == "2:05 min");
}

TEST_CASE("the SVG has a bar for every launcher and no scripts", "[timeline]") {
  const auto svg = timeline_svg(small_tree());

  CHECK(svg.starts_with("<svg xmlns="));
  CHECK(tags_balanced(svg));
  CHECK(count(svg, "<g><title>") == 5);
  CHECK(count(svg, "</rect>") == 0);
  CHECK(svg.find(">n3</text>") != std::string::npos);
  CHECK(svg.find("done at 150 ms") != std::string::npos);
  CHECK(svg.find("<script") == std::string::npos);
  CHECK(svg.find("nan") == std::string::npos);
  CHECK(svg.find("inf") == std::string::npos);
}

TEST_CASE("what hosts say cannot break out of the SVG", "[timeline]") {
  auto record = small_tree();
  record.launchers[0].name = "<script>&\"\x01\xfe";
  record.launchers[0].error = "</svg><script>alert(1)</script>";
  record.launchers[0].set(Mark::failed, 120ms);

  const auto svg = timeline_svg(record);

  CHECK(tags_balanced(svg));
  CHECK(svg.find("<script") == std::string::npos);
  CHECK(svg.find('\x01') == std::string::npos);
  CHECK(svg.find(">failed</text>") != std::string::npos);
}

TEST_CASE("a launcher that never answered is drawn as failed from the start on", "[timeline]") {
  const auto svg = timeline_svg(broken_tree());

  CHECK(tags_balanced(svg));
  CHECK(count(svg, "<g><title>") == 5);
  CHECK(count(svg, "<rect class=\"f\"") == 2);
  CHECK(count(svg, ">failed</text>") == 2);
  CHECK(svg.find("connect: timed out after 6 s; is the host up?</text>") != std::string::npos);
  CHECK(svg.find("nan") == std::string::npos);
}

TEST_CASE("the Chrome trace has an event for every failed launcher", "[timeline]") {
  const auto json = Json::parse(timeline_trace(broken_tree()));

  std::vector<double> times;
  for (const auto& event : json["traceEvents"]) {
    if (event["name"] == "failed") times.push_back(event["ts"]);
  }
  CHECK(times == std::vector{4e6, 6e6});
}

TEST_CASE("a huge job still makes a picture of bounded height", "[timeline]") {
  const auto svg = timeline_svg(wide_tree(5000));

  CHECK(tags_balanced(svg));
  CHECK(count(svg, "<g><title>") <= kMaxTimelineRows);
  CHECK(svg.find(">of 5</tspan>") != std::string::npos);
}

TEST_CASE("the Chrome trace has complete events in microseconds", "[timeline]") {
  const auto json = Json::parse(timeline_trace(small_tree()));

  const auto& events = json["traceEvents"];
  const auto found = std::find_if(events.begin(), events.end(), [](const Json& event) {
    return event["ph"] == "X" && event["pid"] == 1 && event["name"] == "login";
  });
  REQUIRE(found != events.end());
  CHECK((*found)["ts"] == 5000.0);
  CHECK((*found)["dur"] == 17000.0);
  CHECK(std::count_if(events.begin(), events.end(),
                      [](const Json& e) { return e["name"] == "process_name"; }) == 5);
}

TEST_CASE("the timeline's kind follows the file's extension", "[timeline]") {
  CHECK(timeline_format("a/b.svg").value() == TimelineFormat::svg);
  CHECK(timeline_format("b.json").value() == TimelineFormat::trace);
  CHECK(timeline_format("b.png").error().code == Errc::bad_input);
}

}  // namespace charmtree::report_test
