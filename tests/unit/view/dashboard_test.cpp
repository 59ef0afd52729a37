// SPDX-License-Identifier: Apache-2.0
#include "charmrun/view/dashboard.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace charmtree::dashboard_test {

using namespace charmtree::proto;

namespace {

constexpr Instant kStart{100s};

struct Bench {
  explicit Bench(std::uint32_t host_count, std::uint32_t each = 2) {
    for (std::uint32_t i = 0; i < host_count; ++i) {
      Host host;
      host.index = i;
      host.name = "h" + std::to_string(i);
      host.first_process = i * each;
      host.processes = each;
      hosts.push_back(std::move(host));
    }
    job.id = "ab";
    job.arguments = {"./app", "<b>"};
    job.hosts = host_count;
    job.processes = host_count * each;
    status.hosts = job.hosts;
    status.processes = job.processes;
    dashboard.emplace(job, hosts, 7, "root", kStart);
  }

  void progress(Progress news) { dashboard->progress(news, hosts); }
  void prints(std::uint32_t process, std::string text) {
    Show show;
    show.output.process = process;
    show.output.text = std::move(text);
    dashboard->output(show);
  }
  /// What a page is told that knows `since`, or what the last call of this told.
  Json since(Dashboard::Version version) const {
    return Json::parse(dashboard->changes(version, status, kStart + 1500ms));
  }
  Json news() {
    Json json = since(known);
    known = json["version"];
    return json;
  }
  /// Of the last page that knows nothing.
  Json row(std::size_t index) const { return since(0)["rows"][index]; }
  Json process(std::size_t index) const { return since(0)["processes"][index]; }

  std::vector<Host> hosts;
  wire::JobSpec job;
  JobStatus status;
  std::optional<Dashboard> dashboard;
  Dashboard::Version known = 0;
};

std::string text_of(const Json& json) {
  std::string text;
  for (const Json& piece : json["output"]) text += piece["text"].get<std::string>();
  return text;
}

}  // namespace

TEST_CASE("a page that knows nothing is told the whole job", "[dashboard]") {
  Bench bench{2};
  bench.status.late = {"h1"};
  const Json json = bench.since(0);
  CHECK(json["anew"] == true);
  CHECK(json["seconds"] == 1.5);
  CHECK(json["job"]["command"] == Json({"./app", "<b>"}));
  CHECK(json["job"]["pid"] == 7);
  CHECK(json["late"] == Json({"h1"}));
  REQUIRE(json["rows"].size() == 2);
  CHECK(json["rows"][1] ==
        Json::parse(R"({"row":1,"name":"h1","hosts":1,"up":0,"failed":0,"first":2,"processes":2,)"
                    R"("ended":0,"bad":0})"));
  REQUIRE(json["processes"].size() == 4);
  CHECK(json["processes"][3] == Json::parse(R"({"process":3,"state":"waiting"})"));
  CHECK_FALSE(json.contains("end"));
}

TEST_CASE("a page that knows a version is told what has changed since, and nothing else", "[dashboard]") {
  Bench bench{2};
  bench.news();
  const Json nothing = bench.news();
  CHECK((nothing["anew"] == false && nothing["rows"].empty() && nothing["processes"].empty()));
  bench.progress({.hosts_up = {1}, .started_by = {{1, 0}}});
  const Json up = bench.news();
  REQUIRE(up["rows"].size() == 1);
  CHECK((up["rows"][0]["row"] == 1 && up["rows"][0]["up"] == 1 && up["rows"][0]["by"] == 0));
  CHECK(up["processes"] ==
        Json::parse(R"([{"process":2,"state":"running"},{"process":3,"state":"running"}])"));
  bench.prints(2, "hello\n");
  const Json printed = bench.news();
  CHECK(printed["rows"].empty());
  CHECK(printed["output"] == Json::parse(R"([{"stream":"stdout","text":"hello\n","process":2}])"));
  CHECK(bench.news()["output"].empty());
}

TEST_CASE("processes end well or otherwise, and may come back", "[dashboard]") {
  Bench bench{2};
  bench.progress({.hosts_up = {0, 1}});
  bench.progress({.ended = {{0, 1}}, .lost = {{2, "killed by signal 9"}, {77, "nobody"}}});
  CHECK(bench.process(1)["state"] == "ended");
  CHECK(bench.process(2) == Json::parse(R"({"process":2,"state":"failed","how":"killed by signal 9"})"));
  CHECK((bench.row(0)["ended"] == 2 && bench.row(1)["bad"] == 1));
  bench.progress({.back = {2}});
  CHECK(bench.process(2) == Json::parse(R"({"process":2,"state":"running"})"));
  CHECK(bench.row(1)["bad"] == 0);
}

TEST_CASE("what charmrun itself has ended is told apart from what failed, and the first cause is named",
          "[dashboard]") {
  Bench bench{2};
  bench.progress({.hosts_up = {0, 1}});
  CHECK_FALSE(bench.since(0).contains("first"));
  bench.progress(
      {.lost = {{2, "killed by signal 11"}, {1, "exited with status 1"}, {0, "killed by signal 15", true}}});
  CHECK(bench.process(0) == Json::parse(R"({"process":0,"state":"stopped","how":"killed by signal 15"})"));
  CHECK(bench.process(1)["state"] == "failed");
  CHECK((bench.row(0)["bad"] == 1 && bench.row(0)["stopped"] == 1 && bench.row(1)["bad"] == 1));
  CHECK(bench.since(0)["first"] == 2);
  bench.progress({.back = {2}});
  CHECK_FALSE(bench.since(0).contains("first"));
  Finish finish{1, 0};
  finish.why = {Cause::exit, 1, 0, "exited with status 1"};
  bench.dashboard->end(finish, "h0", kStart);
  CHECK(bench.since(bench.dashboard->version())["first"] == 1);
}

TEST_CASE("a long reason is told as a whole", "[dashboard]") {
  Bench bench{1};
  const std::string how = "aborted: " + std::string(1500, 'x');
  bench.progress({.lost = {{0, how}}});
  CHECK(bench.process(0)["how"] == how);
}

TEST_CASE("hosts fail at the start, or are lost later, each with its reason", "[dashboard]") {
  Bench bench{2};
  bench.dashboard->host_failed(0, {Errc::refused, Phase::connect, "refused", "is it on?"});
  bench.progress({.hosts_up = {1}});
  bench.progress({.hosts_lost = {{1, {Errc::link_lost, Phase::run, "gone", {}}}}});
  CHECK((bench.row(0)["failed"] == 1 && bench.row(0)["up"] == 0));
  CHECK(bench.row(0)["why"] == "connect: refused; is it on?");
  CHECK((bench.row(1)["failed"] == 1 && bench.row(1)["up"] == 0));
}

TEST_CASE("when processes get other numbers, a page is told all but the output again", "[dashboard]") {
  Bench bench{3};
  bench.prints(0, "old\n");
  bench.dashboard->host_failed(1, {Errc::refused, Phase::connect, "refused", {}});
  bench.news();
  bench.hosts[1].processes = 0;
  bench.hosts[2].first_process = 2;
  bench.progress({.hosts_up = {0, 2}});
  const Json json = bench.news();
  CHECK(json["anew"] == true);
  CHECK(json["output"].empty());
  CHECK(json["processes"].size() == 4);
  CHECK((json["rows"][1]["failed"] == 1 && json["rows"][1]["processes"] == 0));
  bench.progress({.lost = {{3, "exited with status 1"}}});
  CHECK(bench.row(2)["bad"] == 1);
}

TEST_CASE("how the job ended is told to whoever asks from then on", "[dashboard]") {
  Bench bench{1};
  Finish finish{3, 0};
  finish.why = {Cause::exit, 1, 0, "exited with status 3", {}};
  bench.dashboard->end(finish, "h0", kStart + 2s);
  const Json end = bench.since(bench.dashboard->version())["end"];
  CHECK(end == Json::parse(R"({"status":3,"signal":0,"seconds":2.0,"cause":"exit","process":1,)"
                           R"("how":"exited with status 3","host":"h0"})"));
}

TEST_CASE("many hosts share rows, many processes are only counted", "[dashboard]") {
  Bench bench{10'000, 100};
  Json json = bench.news();
  CHECK(json["rows"].size() <= Dashboard::kMaxRows);
  CHECK(json["job"]["hosts_per_row"] == 10);
  CHECK(json["job"]["lists_all"] == false);
  CHECK(json["processes"].empty());
  CHECK(json["rows"][1]["name"] == "h[10-19]");
  CHECK(json["rows"][1]["processes"] == 1000);
  Progress news;
  for (std::uint32_t i = 0; i < 10'000; ++i) news.hosts_up.push_back(i);
  news.ended = {{0, 999'999}};
  for (std::uint32_t i = 0; i < 10'000; ++i) news.lost.push_back({i * 100, "killed"});
  bench.progress(news);
  json = bench.news();
  CHECK(json["processes"].size() == Dashboard::kMaxListed);
  CHECK(
      (json["rows"][999]["up"] == 10 && json["rows"][999]["ended"] == 990 && json["rows"][999]["bad"] == 10));
  CHECK(json.dump().size() < (1U << 20));
}

TEST_CASE("the last of the output of each process is kept, and of all together", "[dashboard]") {
  Bench bench{1, 1000};
  const std::string line(1000, 'x');
  for (int i = 0; i < 100; ++i) bench.prints(0, line + std::to_string(i) + "\n");
  bench.prints(1, "few\n");
  Json json = bench.since(0);
  CHECK(json["left_out"] == true);
  CHECK(text_of(json).size() <= Dashboard::kMaxTail + 4);
  CHECK(text_of(json).ends_with("x99\nfew\n"));
  bench.prints(2, std::string(1U << 20, 'y'));  // one long line
  CHECK(text_of(bench.since(0)).size() <= 2 * Dashboard::kMaxTail + 4);
  for (std::uint32_t process = 3; process < 1000; ++process)
    for (int i = 0; i < 10; ++i) bench.prints(process, line + "\n");
  CHECK(text_of(bench.since(0)).size() <= Dashboard::kMaxOutput);
  bench.news();
  for (std::uint32_t process = 3; process < 1000; ++process) bench.prints(process, line + "\n");
  json = bench.news();  // who has seen something before is told no more than is to be seen at once
  CHECK(text_of(json).size() <= Dashboard::kMaxNews + 1100);
  CHECK(json["left_out"] == true);
  CHECK(bench.news()["left_out"] == false);
}

TEST_CASE("what charmrun says is among the output; late hosts and bytes that are no text do no harm",
          "[dashboard]") {
  Bench bench{1};
  bench.dashboard->say(Tone::error, "bad \xff thing");
  bench.status.late.assign(1000, "h");
  const Json json = bench.since(0);
  CHECK(text_of(json) == "bad \xEF\xBF\xBD thing\n");
  CHECK(json["output"][0]["stream"] == "error");
  CHECK_FALSE(json["output"][0].contains("process"));
  CHECK(json["late"].size() == Dashboard::kMaxLate);
  CHECK(json["status"]["late"] == 1000);
}

TEST_CASE("a process that goes on elsewhere is shown there", "[dashboard]") {
  Bench bench{3};
  CHECK_FALSE(bench.process(2).contains("row"));
  Progress news;
  news.restarts = {{2, 2, 1, "its host was lost"}, {4, 2, 1, "killed"}};
  bench.progress(news);
  CHECK(bench.process(2)["row"] == 2);
  CHECK_FALSE(bench.process(4).contains("row"));  // it is where it was
  Progress again;
  again.restarts = {{2, 1, 2, "its host was lost"}};
  bench.progress(again);
  CHECK(bench.process(2)["row"] == 1);
}

}  // namespace charmtree::dashboard_test
