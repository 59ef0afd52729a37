// SPDX-License-Identifier: Apache-2.0
#include "tree/io/host/piped_process.hpp"

#include <catch2/catch.hpp>
#include <csignal>
#include <optional>

#include "tree/io/surroundings.hpp"

namespace charmtree::piped_process_test {

using namespace charmtree::io;

namespace {

struct Talk {
  asio::io_context io;
  ChildWatch watch{io};
  std::string output, error;
  std::size_t took = 0;
  std::optional<ChildStatus> end;
  std::shared_ptr<PipedProcess> process;

  Result<void> start(const std::string& script, bool has_input) {
    process = std::make_shared<PipedProcess>(
        io, watch,
        PipedProcess::Hooks{[this](std::string_view bytes) { output += bytes; },
                            [this](std::string_view bytes) { error += bytes; },
                            [this](std::size_t bytes) { took += bytes; },
                            [this](ChildStatus status) { end = status, io.stop(); }});
    SpawnRequest request;
    request.program = "sh";
    request.arguments = {"sh", "-c", script};
    request.environment = own_environment();
    return process->start(request, has_input);
  }
  /// Nobody hears the program any more; until it is gone.
  void leave() {
    const std::weak_ptr<PipedProcess> left = process;
    const auto work = asio::make_work_guard(io);
    asio::post(io, [this] { std::exchange(process, nullptr)->leave(); });
    while (!left.expired()) io.run_one();
  }
};

}  // namespace

TEST_CASE("a program's words come before its end, and its input goes to it", "[piped]") {
  Talk talk;
  REQUIRE(talk.start("cat; echo bad >&2; exit 3", true));
  talk.process->write(std::string(300'000, 'x'));
  talk.process->end_input();
  talk.process->write("too late");
  talk.io.run();
  CHECK((talk.output == std::string(300'000, 'x') && talk.error == "bad\n" && talk.took == 300'000));
  REQUIRE(talk.end);
  CHECK(talk.end->code == 3);
}

TEST_CASE("without an input nothing comes from it", "[piped]") {
  Talk talk;
  REQUIRE(talk.start("wc -c", false));
  talk.io.run();
  CHECK(talk.output == "0\n");
}

TEST_CASE("nothing is read of a program that is paused, and nothing is lost", "[piped]") {
  Talk talk;
  REQUIRE(talk.start("head -c 200000 /dev/zero", false));
  talk.process->pause(true);
  asio::steady_timer timer{talk.io, 1200ms};
  timer.async_wait([&](error_code) {
    CHECK((talk.output.size() <= (64U << 10) && !talk.end));
    talk.process->pause(false);
  });
  talk.io.run();
  CHECK(talk.output.size() == 200'000);
}

TEST_CASE("a pipe that others keep open does not keep a program's end back", "[piped]") {
  Talk talk;
  REQUIRE(talk.start("sleep 30 & echo done; echo $!", false));
  talk.io.run();
  REQUIRE(talk.output.starts_with("done\n"));
  ::kill(std::stoi(talk.output.substr(5)), SIGKILL);
}

TEST_CASE("what a program leaves behind is not read for who has left", "[piped]") {
  const bool leaves_before = GENERATE(true, false);
  Talk talk;
  REQUIRE(talk.start(leaves_before ? "yes & sleep 0.2" : "yes &", false));
  while (!leaves_before && !talk.watch.pids().empty()) talk.io.run_one();
  talk.leave();
  CHECK((!talk.end && talk.watch.pids().empty()));
}

TEST_CASE("who has left is not told anything, and the program ends", "[piped]") {
  const bool has_input = GENERATE(true, false);
  Talk talk;
  REQUIRE(talk.start(has_input ? "cat" : "sleep 1000", has_input));
  talk.leave();
  CHECK((!talk.end && talk.watch.pids().empty()));
}

}  // namespace charmtree::piped_process_test
