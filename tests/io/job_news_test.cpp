// SPDX-License-Identifier: Apache-2.0
// Events of ++json, from what the console is told to a file or to stdout.
#include "charmrun/view/job_news.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace charmtree::job_news_test {

namespace {

struct Bench {
  Bench() {
    std::string name = "/tmp/job_news.XXXXXX";
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    folder = name;
    job.id = "ab";
    hosts.resize(2);
    hosts[0].name = "h0";
    hosts[1].name = "h1";
  }
  ~Bench() { std::filesystem::remove_all(folder); }
  void begin(const std::string& place) {
    auto writer = EventWriter::open(place);
    REQUIRE(writer.ok());
    news.begin_events(std::move(*writer), place, job);
  }
  void progress(proto::Stage stage) {
    proto::Progress progress;
    progress.status.stage = stage;
    progress.hosts_up = {1};
    news.progress(progress, hosts);
  }
  /// The events of these lines, in their order.
  static std::string events(const std::string& text) {
    std::stringstream lines{text};
    std::string found;
    for (std::string line; std::getline(lines, line);) {
      const auto begin = line.find("\"event\":\"") + 9;
      found += line.substr(begin, line.find('"', begin) - begin) + ' ';
    }
    return found;
  }

  std::string folder;
  wire::JobSpec job;
  std::vector<Host> hosts;
  io::asio::io_context io;
  std::string on_stdout, said;
  JobNews news{io,
               Instant{},
               {[this](std::string line) { on_stdout += line; }, [] {},
                [this](proto::Tone, const std::string& line) { said += line; }}};
};

}  // namespace

TEST_CASE("without events and page nothing is written", "[job_news]") {
  Bench bench;
  bench.progress(proto::Stage::start);
  bench.news.say(proto::Tone::info, "x");
  bench.news.host_failed(1, "h1", {Errc::timed_out, Phase::connect, "no answer", {}}, Instant{});
  bench.news.end({}, "");
  CHECK_FALSE(bench.news.have_stdout());
  CHECK(bench.news.backlog() == 0);
  CHECK(bench.news.drain(1s));
  CHECK((bench.on_stdout.empty() && bench.said.empty()));
}

TEST_CASE("a file of events has all but the output, and each stage once", "[job_news]") {
  Bench bench;
  const std::string path = bench.folder + "/events";
  bench.begin(path);
  CHECK_FALSE(bench.news.have_stdout());
  bench.progress(proto::Stage::start);
  bench.progress(proto::Stage::start);
  bench.news.output({});
  bench.news.say(proto::Tone::info, "x");
  bench.news.host_failed(1, "h1", {Errc::timed_out, Phase::connect, "no answer", {}}, Instant{});
  bench.news.end({}, "");
  REQUIRE(bench.news.drain(10s));
  std::stringstream text;
  text << std::ifstream{path}.rdbuf();
  CHECK(Bench::events(text.str()) == "job host_up stage host_up message host_failed end ");
  CHECK((bench.on_stdout.empty() && bench.said.empty()));
}

TEST_CASE("events on stdout have the output and announcements inside", "[job_news]") {
  Bench bench;
  bench.begin("-");
  CHECK(bench.news.have_stdout());
  bench.news.announce("ccs: Server IP = 127.0.0.1\n");
  bench.news.output({wire::Output{1, 1, false, "hello\n"}, "h0"});
  bench.news.end({}, "");
  CHECK(Bench::events(bench.on_stdout) == "job message output end ");
}

TEST_CASE("a place of events that is full is told of, and the job goes on", "[job_news]") {
  Bench bench;
  bench.begin("/dev/full");
  const auto work = io::asio::make_work_guard(bench.io);
  while (bench.said.empty() && bench.io.run_one_for(10s) > 0) continue;
  CHECK(bench.said == "++json: cannot write /dev/full: No space left on device; the job goes on without it");
}

}  // namespace charmtree::job_news_test
