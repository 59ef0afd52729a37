// SPDX-License-Identifier: Apache-2.0
// Streams of the user and terminals of processes, on real descriptors.
#include "tree/io/user/user_streams.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <csignal>

#include "tree/io/pseudo_terminal.hpp"
#include "tree/io/unique_fd.hpp"

namespace charmtree::user_streams_test {

using namespace charmtree::io;

namespace {

constexpr int kRoom = 4096;  // of the pipe

/// A writer into a pipe that nobody reads, full.
struct FullPipe {
  FullPipe() {
    ::signal(SIGPIPE, SIG_IGN);
    std::array<int, 2> ends{};
    REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
    reader.reset(ends[0]);
    writer.reset(ends[1]);
    REQUIRE(::fcntl(ends[1], F_SETPIPE_SZ, kRoom) == kRoom);
  }
  bool reads(std::size_t bytes) {
    std::string buffer(bytes, '\0');
    std::size_t got = 0;
    while (got < bytes) {
      const ssize_t more = ::read(reader.get(), buffer.data(), bytes - got);
      if (more <= 0) return false;
      got += static_cast<std::size_t>(more);
    }
    return true;
  }
  /// Runs the loop until something has been confirmed.
  void wait_for(int count) {
    while (confirmed < count) io.run_one();
  }
  UniqueFd reader, writer;
  asio::io_context io;
  int confirmed = 0;
};

}  // namespace

TEST_CASE("what is written is confirmed when it has left us", "[streams]") {
  FullPipe pipe;
  const auto guard = asio::make_work_guard(pipe.io);
  OutputWriter out{pipe.io, pipe.writer.get(), [] {}, [] {}};
  const auto confirm = [&] { out.confirm([&pipe] { ++pipe.confirmed; }); };
  confirm();
  pipe.wait_for(1);  // nothing was to be written
  out.write(std::string(kRoom, 'x'));
  confirm();
  pipe.wait_for(2);  // it is in the pipe, which is full now
  out.write("more");
  confirm();
  pipe.io.run_for(std::chrono::milliseconds{20});
  CHECK(pipe.confirmed == 2);
  CHECK(pipe.reads(kRoom + 4));
  pipe.wait_for(3);
}

TEST_CASE("what nobody will ever read is confirmed, too", "[streams]") {
  FullPipe pipe;
  const auto guard = asio::make_work_guard(pipe.io);
  bool broken = false;
  OutputWriter out{pipe.io, pipe.writer.get(), [] {}, [&broken] { broken = true; }};
  const auto confirm = [&] { out.confirm([&pipe] { ++pipe.confirmed; }); };
  out.write(std::string(kRoom + 1, 'x'));
  confirm();
  confirm();
  pipe.reader.reset();
  pipe.wait_for(2);
  confirm();
  pipe.wait_for(3);
  CHECK(broken);
}

TEST_CASE("input is read when it is there, and its descriptor stays as it was", "[streams]") {
  asio::io_context io;
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  const UniqueFd reader{ends[0]};
  UniqueFd writer{ends[1]};
  const int flags = ::fcntl(reader.get(), F_GETFL);
  std::string got;
  bool ended = false;
  InputReader input{io, reader.get(), [&](const std::string& bytes, bool end) {
                      got += bytes;
                      ended = end;
                    }};
  const auto wait_for = [&](const auto& done) {
    while (!done()) {
      io.restart();  // it stops when nothing is waited for
      io.run_one();
    }
  };
  input.read(3);
  io.run_for(std::chrono::milliseconds{10});
  CHECK(got.empty());
  CHECK(::fcntl(reader.get(), F_GETFL) == flags);  // others share it
  REQUIRE(::write(writer.get(), "abcde", 5) == 5);
  wait_for([&] { return !got.empty(); });
  CHECK(got == "abc");  // as much as was asked for
  input.read(3);
  wait_for([&] { return got.size() > 3; });
  CHECK(got == "abcde");
  writer.reset();
  input.read(3);
  wait_for([&] { return ended; });
  CHECK(::fcntl(reader.get(), F_GETFL) == flags);
}

TEST_CASE("input that cannot be waited for is read, too", "[streams]") {
  asio::io_context io;
  const UniqueFd null{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
  bool ended = false;
  InputReader input{io, null.get(), [&](const std::string&, bool end) { ended = end; }};
  input.read(3);
  io.run_one();
  CHECK(ended);
}

TEST_CASE("a terminal gives back what its process has not read", "[terminal]") {
  const auto terminal = open_pseudo_terminal({{30, 90}, false});
  REQUIRE(terminal.ok());
  CHECK(window_size(terminal->slave.get()) == wire::WindowSize{30, 90});
  const auto type = [&](std::string_view keys) {
    CHECK(::write(terminal->master.get(), keys.data(), keys.size()) == static_cast<ssize_t>(keys.size()));
  };
  const auto key = end_of_input(terminal->slave.get());
  REQUIRE(key == '\4');
  type("a line\nhalf a li");
  CHECK_FALSE(end_of_input(terminal->slave.get()));  // there is something to be read first
  CHECK(take_back_input(terminal->slave.get()) == "a line\nhalf a li");
  CHECK(take_back_input(terminal->slave.get()).empty());
  type({&*key, 1});
  CHECK_FALSE(end_of_input(terminal->slave.get()));  // its end is not read yet
  std::array<char, 10> buffer;
  CHECK(::read(terminal->slave.get(), buffer.data(), buffer.size()) == 0);
  CHECK(end_of_input(terminal->slave.get()));
  CHECK(::read(terminal->master.get(), buffer.data(), buffer.size()) == -1);  // no echo
}

}  // namespace charmtree::user_streams_test
