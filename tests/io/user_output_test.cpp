// SPDX-License-Identifier: Apache-2.0
// Where text for the user goes, on pipes that stand for stdout and stderr.
#include "charmrun/view/user_output.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tree/io/clock.hpp"
#include "tree/io/unique_fd.hpp"

namespace charmtree::user_output_test {

using proto::Stream;

namespace {

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    REQUIRE(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) == 0);
    reader.reset(ends[0]);
    writer.reset(ends[1]);
  }
  /// What has come.
  std::string text() const {
    std::array<char, 4096> buffer{};
    const ssize_t size = ::read(reader.get(), buffer.data(), buffer.size());
    return {buffer.data(), size < 0 ? 0 : static_cast<std::size_t>(size)};
  }
  io::UniqueFd reader, writer;
};

struct Bench {
  explicit Bench(DisplayRules rules = {}, bool files = false) {
    output.emplace(io, std::move(rules), files, UserOutput::Streams{out.writer.get(), err.writer.get()},
                   UserOutput::Hooks{[this] { ++rooms; }, [this](std::uint32_t process) { shown = process; },
                                     [this] { nobody_reads = true; },
                                     [this](const std::string& line) { complaints += line + '\n'; },
                                     [this] { return raw; }, [this] { hung_up = true; }});
  }
  void show(const std::string& text, bool receipt = false, Stream stream = Stream::out) {
    output->show({wire::Output{3, static_cast<std::uint8_t>(stream), receipt, text}, "node1"});
  }

  Pipe out, err;
  io::asio::io_context io;
  std::optional<std::uint32_t> shown;
  int rooms = 0;
  bool nobody_reads = false, hung_up = false, raw = false;
  std::string complaints;
  std::optional<UserOutput> output;
};

struct Folder {
  Folder() {
    std::string name = "/tmp/user_output.XXXXXX";
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string path;
};

}  // namespace

TEST_CASE("output and our own lines go to their streams", "[user_output]") {
  Bench bench;
  bench.show("one\n");
  bench.output->say(Stream::err, "charmrun: two\n");
  bench.output->pass("three\n");
  REQUIRE(bench.output->drain(10s));
  CHECK(bench.out.text() == "one\nthree\n");
  CHECK(bench.err.text() == "charmrun: two\n");
  CHECK(bench.output->failure() == 0);
}

TEST_CASE("who waits for a receipt gets it when its output is written, and no more after the end",
          "[user_output]") {
  Bench bench;
  const auto work = io::asio::make_work_guard(bench.io);
  bench.show("asked: ", true);
  REQUIRE(bench.output->drain(10s));
  while (!bench.shown && bench.io.run_one_for(10s) > 0) continue;
  CHECK(bench.shown == 3U);
  bench.io.run_for(std::chrono::milliseconds{100});
  CHECK(bench.rooms > 0);
  bench.shown.reset();
  bench.output->confirm_passed(5);
  bench.output.reset();
  bench.io.restart();
  bench.io.run_for(std::chrono::milliseconds{100});
  CHECK_FALSE(bench.shown.has_value());
}

TEST_CASE("on a raw terminal lines begin at its left, but what its process prints is passed on",
          "[user_output]") {
  Bench bench;
  bench.raw = true;
  bench.output->say(Stream::err, "one\r\ntwo\n");
  bench.show("a\nb", false, Stream::terminal);
  REQUIRE(bench.output->drain(10s));
  CHECK(bench.err.text() == "one\r\ntwo\r\n");
  CHECK(bench.out.text() == "a\nb");
}

TEST_CASE("a stdout that nobody reads is told of", "[user_output]") {
  ::signal(SIGPIPE, SIG_IGN);
  Bench bench;
  bench.out.reader.reset();
  bench.output->pass("lost");
  const auto work = io::asio::make_work_guard(bench.io);
  while (!bench.nobody_reads && bench.io.run_one_for(10s) > 0) continue;
  CHECK(bench.nobody_reads);
  CHECK(bench.output->failure() != 0);
}

TEST_CASE("a pipe that loses its reader is reported without a write, but under nohup", "[user_output]") {
  const bool is_out = GENERATE(true, false);
  const auto watch = [is_out](Duration patience) {
    Bench bench;
    const Instant begin = io::now();
    const auto work = io::asio::make_work_guard(bench.io);
    bench.io.poll();
    CHECK_FALSE(bench.hung_up);
    (is_out ? bench.out : bench.err).reader.reset();
    while (!bench.hung_up && io::now() < begin + patience) bench.io.run_one_for(patience / 10);
    CHECK_FALSE(bench.nobody_reads);
    return bench.hung_up;
  };
  CHECK(watch(30s));
  const auto before = ::signal(SIGHUP, SIG_IGN);
  CHECK_FALSE(watch(io::ReaderWatch::kGone * 2));
  ::signal(SIGHUP, before);
}

TEST_CASE("a pipe whose reader is replaced in time is not reported", "[user_output]") {
  Pipe pipe;
  const std::string path = "/proc/self/fd/" + std::to_string(pipe.writer.get());
  io::asio::io_context loop;
  bool gone = false;
  const io::ReaderWatch watch{loop, {pipe.writer.get()}, [&] { gone = true; }};
  pipe.reader.reset();
  loop.run_one_for(10s);  // the watch sees that
  pipe.reader.reset(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  REQUIRE(pipe.reader);
  loop.run_for(io::ReaderWatch::kGone * 2);
  CHECK_FALSE(gone);
}

TEST_CASE("processes with files get them, even if they say nothing, and the first failure is told at once",
          "[user_output]") {
  const Folder folder;
  DisplayRules rules;
  rules.file = *Label::parse(folder.path + "/%r.out", {"output", "rhs"});
  Bench bench{rules, true};
  Host host;
  host.name = "node1";
  host.first_process = 3;
  host.processes = 2;
  bench.show("one\n");
  std::filesystem::create_directory(folder.path + "/4.out");  // in the way of the other one's
  bench.output->finish(std::array{host}, 10s);
  std::stringstream text;
  text << std::ifstream{folder.path + "/3.out"}.rdbuf();
  CHECK(text.str() == "one\n");
  CHECK(bench.output->has_lost_files());
  CHECK(bench.complaints ==
        "++output: cannot write " + folder.path + "/4.out: Is a directory; the job goes on without it\n");
  CHECK(bench.out.text().empty());
}

}  // namespace charmtree::user_output_test
