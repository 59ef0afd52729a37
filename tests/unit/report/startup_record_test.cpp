// SPDX-License-Identifier: Apache-2.0
#include "charmrun/report/startup_record.hpp"

#include <catch2/catch.hpp>

namespace charmtree::startup_record_test {

namespace {

constexpr Instant kStarted{100s};

std::vector<Host> two_hosts() {
  std::vector<Host> hosts(2);
  for (std::uint32_t i = 0; i < 2; ++i) {
    hosts[i].index = i;
    hosts[i].name = i == 0 ? "good" : "bad";
    hosts[i].processes = 3;
  }
  return hosts;
}

wire::Stamps stamps_of(std::uint32_t host) {
  wire::Stamps stamps{host, 0, 2, 3};
  stamps.times[wire::Stamps::begun] = kStarted + 5ms;
  stamps.times[wire::Stamps::hello] = kStarted + 9ms;
  return stamps;
}

const Error kNoProgram{Errc::no_program, Phase::spawn, "no such program", "check the path"};

}  // namespace

TEST_CASE("stamps become marks since the start of main", "[report]") {
  const auto hosts = two_hosts();
  StartupRecorder recorder{{}, hosts, kStarted};

  recorder.stamped(stamps_of(1));

  REQUIRE(recorder.record().launchers.size() == 1);
  const LauncherRecord& launcher = recorder.record().launchers[0];
  CHECK(launcher.host == 1);
  CHECK(launcher.name == "bad");
  CHECK(launcher.processes == 3);
  CHECK(launcher.parent == 0);
  CHECK(launcher.level == 2);
  CHECK(launcher.attempts == 3);
  CHECK(launcher.at(Mark::begun) == 5ms);
  CHECK(launcher.at(Mark::hello) == 9ms);
  CHECK_FALSE(launcher.reached(Mark::spawned));
  CHECK(launcher.error.empty());
}

TEST_CASE("a child of the root names the root as its parent", "[report]") {
  const auto hosts = two_hosts();
  StartupRecorder recorder{{}, hosts, kStarted};
  wire::Stamps stamps = stamps_of(0);
  stamps.parent = wire::kRootIndex;

  recorder.stamped(stamps);

  CHECK(recorder.record().launchers[0].parent == kRootLauncher);
}

TEST_CASE("a launcher that never answered has its failure alone", "[report]") {
  const auto hosts = two_hosts();
  StartupRecord job;
  job.launchers.emplace_back();  // the root
  StartupRecorder recorder{job, hosts, kStarted};

  recorder.failed(1, Error{Errc::timed_out, Phase::connect, "timed out", "is it up?"}, kStarted + 6s);

  REQUIRE(recorder.record().launchers.size() == 2);
  const LauncherRecord& launcher = recorder.record().launchers[1];
  CHECK(launcher.error == "connect: timed out; is it up?");
  CHECK(launcher.name == "bad");
  CHECK(launcher.parent == kRootLauncher);
  CHECK(launcher.level == 1);
  CHECK(launcher.attempts == 0);
  CHECK(launcher.at(Mark::failed) == 6s);
  CHECK(last_mark(launcher) == 6s);
  CHECK(segments(launcher).empty());
}

TEST_CASE("stamps and failure of one launcher are one record, whichever comes first", "[report]") {
  const auto hosts = two_hosts();
  const bool stamps_first = GENERATE(false, true);
  StartupRecorder recorder{{}, hosts, kStarted};

  if (stamps_first) recorder.stamped(stamps_of(1));
  recorder.failed(1, kNoProgram, kStarted + 20ms);
  recorder.failed(1, Error{Errc::link_lost, Phase::run, "the second one", {}}, kStarted + 1s);
  if (!stamps_first) recorder.stamped(stamps_of(1));

  REQUIRE(recorder.record().launchers.size() == 1);
  const LauncherRecord& launcher = recorder.record().launchers[0];
  CHECK(launcher.error == "spawn: no such program; check the path");
  CHECK(launcher.at(Mark::failed) == 20ms);
  CHECK(launcher.at(Mark::hello) == 9ms);
  CHECK(launcher.level == 2);
  CHECK(launcher.attempts == 3);
}

TEST_CASE("a record has the processes that the hosts have got", "[report]") {
  auto hosts = two_hosts();
  StartupRecord record;
  record.processes = 9;
  record.launchers.resize(2);
  record.launchers[1].host = 1;
  hosts[0].processes = hosts[1].processes = 0;
  set_processes(record, hosts);
  CHECK(record.processes == 9);
  hosts[0].processes = 3;
  hosts[1].processes = 4;
  set_processes(record, hosts);
  CHECK(record.processes == 7);
  CHECK(record.launchers[0].processes == 0);
  CHECK(record.launchers[1].processes == 4);
}

}  // namespace charmtree::startup_record_test
