// SPDX-License-Identifier: Apache-2.0
// The link over a live channel: bytes both ways, endings, flow control, closing.
#include <catch2/catch.hpp>

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/io/ssh_fixture.hpp"
#include "tree/base/random.hpp"
#include "tree/io/clock.hpp"

namespace charmtree::ssh_link_test {

using namespace charmtree::io;
using namespace charmtree::io::test;

namespace {

std::string noise(std::size_t size, std::uint64_t seed) {
  Random random(seed);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random.next());
  return bytes;
}

struct Live {
  explicit Live(const std::string& command, const SshdSetup& setup = {}) : sshd(setup) {
    LoginResult result = bench.login(sshd.host(), sshd.profile(), command);
    INFO(to_string(result.error));
    REQUIRE(result.link);
    link = std::move(result.link);
  }
  Sshd sshd;
  Bench bench;
  std::unique_ptr<Link> link;
};

void echo_ten_megabytes(Live& live) {
  static constexpr std::size_t kTotal = 10'000'000;
  const std::string sent = noise(kTotal, 7);
  const auto got = collect(*live.link);
  std::size_t at = 0, piece = 1;
  while (at < kTotal) {  // pieces from one byte to 1 MB
    live.link->send(sent.substr(at, piece));
    at += piece;
    piece = piece * 3 + 1;
    if (piece > 1'000'000) piece = 1;
  }
  REQUIRE(live.bench.run_until([&] { return got->bytes.size() >= kTotal || got->end; }));
  CHECK(got->bytes == sent);
  CHECK(live.link->backlog() == 0);
}

}  // namespace

TEST_CASE("10 MB go both ways unchanged", "[ssh]") {
  Live live("cat");
  echo_ten_megabytes(live);
}

TEST_CASE("10 MB go both ways unchanged while keys are exchanged anew each 1 MB", "[ssh]") {
  SshdSetup setup;
  setup.extra = "RekeyLimit 1M";
  Live live("cat", setup);
  echo_ten_megabytes(live);
}

TEST_CASE("a byte that came while stderr was looked at is not left lying", "[ssh]") {
  static constexpr std::size_t kRounds = 5'000;  // without the remedy one of the first hundreds hangs
  Live live("while read line; do echo error >&2; echo out; done");
  const auto got = collect(*live.link);
  for (std::size_t i = 1; i <= kRounds; ++i) {
    live.link->send("\n");
    REQUIRE(live.bench.run_until([&] { return got->bytes.size() >= 4 * i || got->end; }));
    REQUIRE_FALSE(got->end);
  }
}

TEST_CASE("the server's keep-alive questions are answered", "[ssh]") {
  SshdSetup setup;
  setup.extra = "ClientAliveInterval 1\nClientAliveCountMax 1";
  Live live("cat", setup);
  const auto got = collect(*live.link);
  const Instant begun = now();
  REQUIRE(live.bench.run_until([&] { return now() - begun > 3500ms; }));
  live.link->send("still here");
  REQUIRE(live.bench.run_until([&] { return got->bytes == "still here" || got->end; }));
  CHECK_FALSE(got->end);
}

TEST_CASE("a command that reads nothing holds the bytes back in the backlog", "[ssh]") {
  Live live("sleep 1; cat | wc -c");
  const auto got = collect(*live.link);
  const std::size_t total = 8'000'000;
  bool drained = false;
  live.link->send(std::string(total, 'x'));
  REQUIRE(live.bench.run_until([&] { return live.link->backlog() < total; }));
  CHECK(live.link->backlog() > 0);
  live.link->close(10s);
  CHECK(live.bench.run_until([&] {
    drained = live.link->backlog() == 0;
    return drained;
  }));
}

TEST_CASE("on_drained comes after the backlog fell to 0", "[ssh]") {
  Live live("cat >/dev/null");
  int drained = 0;
  std::size_t backlog = 1;
  Link::Handlers handlers;
  handlers.on_drained = [&] {
    ++drained;
    backlog = live.link->backlog();
  };
  live.link->start(std::move(handlers));
  live.link->send(std::string(5'000'000, 'x'));
  CHECK(drained == 0);
  REQUIRE(live.bench.run_until([&] { return drained == 1; }));
  CHECK(backlog == 0);
}

TEST_CASE("a failing command's status and the tail of its stderr arrive with the end", "[ssh]") {
  Live live("head -c 100000 /dev/zero | tr '\\0' 'e' >&2; echo out; echo last words >&2; exit 42");
  const auto got = collect(*live.link);
  REQUIRE(live.bench.run_until([&] { return got->end.has_value(); }));
  CHECK(got->end->exit_status == 42);
  CHECK(got->end->exit_signal.empty());
  CHECK(got->end->stderr_tail.size() == 4096);
  CHECK(
      got->end->stderr_tail.ends_with("eeee"
                                      "last words\n"));
  CHECK(got->bytes == "out\n");
  CHECK(got->end->what == "closed by the other side");
}

TEST_CASE("a command killed by a signal says which", "[ssh]") {
  Live live("kill -KILL $$");
  const auto got = collect(*live.link);
  REQUIRE(live.bench.run_until([&] { return got->end.has_value(); }));
  CHECK(got->end->exit_signal == "KILL");
  CHECK(got->end->exit_status == -1);
}

TEST_CASE("a program that is not there ends with 127 and the shell's words", "[ssh]") {
  Live live("exec /nonexistent/charmrun ++launcher");
  const auto got = collect(*live.link);
  REQUIRE(live.bench.run_until([&] { return got->end.has_value(); }));
  CHECK((got->end->exit_status == 127 || got->end->exit_status == 126));
  CHECK(got->end->stderr_tail.find("/nonexistent/charmrun") != std::string::npos);
}

TEST_CASE("a lost connection ends the link without an exit status", "[ssh]") {
  Live live("echo $PPID; cat");
  const auto got = collect(*live.link);
  REQUIRE(live.bench.run_until([&] { return got->bytes.find('\n') != std::string::npos; }));
  kill(std::stoi(got->bytes), SIGKILL);  // the sshd process of this very login
  REQUIRE(live.bench.run_until([&] { return got->end.has_value(); }));
  CHECK(got->end->exit_status == -1);
  INFO(got->end->what);
  CHECK(got->end->what.starts_with("connection "));
}

TEST_CASE("what came before a lost connection is not lost", "[ssh]") {
  static constexpr std::size_t kTotal = 400'000;
  Live live("echo $PPID; read line; head -c 400000 /dev/zero; echo >&2; read line");
  const auto got = collect(*live.link);
  REQUIRE(live.bench.run_until([&] { return got->bytes.find('\n') != std::string::npos; }));
  const pid_t server = std::stoi(got->bytes);
  got->bytes.clear();
  SECTION("while it is read") {
    live.link->send("\n");
  }
  SECTION("while reading is paused, with bytes to send") {
    live.link->send("\n");
    live.link->pause_reading(true);
    live.link->send(std::string(100, '\n'));
  }
  const Instant begun = now();
  // The line goes out; what it brings stays with the kernels.
  live.bench.io.run_for(1ms);
  if (server > 0) usleep(500'000);  // tidy: allow(sleep) another program fills the kernels' buffers
  kill(server, SIGKILL);
  REQUIRE(live.bench.run_until([&] { return now() - begun > 1s; }));
  live.link->pause_reading(false);
  REQUIRE(live.bench.run_until([&] { return got->end.has_value(); }));
  CHECK(got->bytes.size() == kTotal);
  INFO(got->end->what);
  CHECK(got->end->what.starts_with("connection "));
}

TEST_CASE("an idle connection asks after its peer, and no program inherits it", "[ssh]") {
  Live live("cat");
  int sockets = 0;
  for (int fd = 3; fd < 64; ++fd) {
    sockaddr_in peer{};
    socklen_t size = sizeof peer;
    if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) != 0) continue;
    if (peer.sin_family != AF_INET || ntohs(peer.sin_port) != live.sshd.port()) continue;
    ++sockets;
    const auto option = [fd](int level, int name) {
      int value = 0;
      socklen_t length = sizeof value;
      getsockopt(fd, level, name, &value, &length);
      return value;
    };
    CHECK((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    CHECK(option(SOL_SOCKET, SO_KEEPALIVE) == 1);
    CHECK(option(IPPROTO_TCP, TCP_KEEPIDLE) + 3 * option(IPPROTO_TCP, TCP_KEEPINTVL) <= 12);
    CHECK(option(IPPROTO_TCP, TCP_USER_TIMEOUT) == 10'000);
  }
  CHECK(sockets == 1);
}

TEST_CASE("what was written just before the end is not lost", "[ssh]") {
  for (int i = 0; i < 5; ++i) {
    Live live("head -c 3000000 /dev/zero; exit 3");
    const auto got = collect(*live.link);
    REQUIRE(live.bench.run_until([&] { return got->end.has_value(); }));
    CHECK(got->bytes.size() == 3'000'000);
    CHECK(got->end->exit_status == 3);
  }
}

TEST_CASE("while reading is paused no bytes come, and none are lost", "[ssh]") {
  Live live("head -c 20000000 /dev/zero");
  const auto got = collect(*live.link);
  REQUIRE(live.bench.run_until([&] { return got->bytes.size() > 100'000; }));
  live.link->pause_reading(true);
  const std::size_t at_pause = got->bytes.size();
  const Instant begun = now();
  REQUIRE(live.bench.run_until([&] { return now() - begun > 300ms; }));
  CHECK(got->bytes.size() == at_pause);
  live.link->pause_reading(false);
  REQUIRE(live.bench.run_until([&] { return got->end.has_value(); }));
  CHECK(got->bytes.size() == 20'000'000);
}

TEST_CASE("close sends what is queued and then the end of stdin", "[ssh]") {
  const TempDir directory;
  const std::string file = directory.path("copy");
  Live live("cat > " + file + "; echo done > " + file + ".done");
  const auto got = collect(*live.link);
  const std::string sent = noise(3'000'000, 3);
  live.link->send(sent);
  live.link->close(10s);
  live.link.reset();
  REQUIRE(live.bench.run_until([&] { return !read_text(file + ".done").empty(); }));
  CHECK(read_text(file) == sent);
  CHECK_FALSE(got->end);  // no handler is called after close()
}

TEST_CASE("close lingers no longer than asked for", "[ssh]") {
  Live live("sleep 20");
  live.link->send(std::string(8'000'000, 'x'));
  (void)collect(*live.link);
  live.link->close(200ms);
  const Instant begun = now();
  live.bench.io.restart();
  live.bench.io.run();  // ends when nothing is left to do
  CHECK(now() - begun < 2s);
}

TEST_CASE("handlers may send, pause, close and destroy the link", "[ssh]") {
  Live live("cat; echo more; sleep 20");
  Link::Handlers handlers;
  bool gone = false;
  handlers.on_bytes = [&](std::string_view) {
    live.link->send("again");
    live.link->pause_reading(true);
    live.link->pause_reading(false);
    live.link->close(0s);
    live.link.reset();
    gone = true;
  };
  handlers.on_end = [](LinkEnd) { FAIL("called after close"); };
  live.link->start(std::move(handlers));
  live.link->send("first");
  REQUIRE(live.bench.run_until([&] { return gone; }));
  live.bench.io.restart();
  live.bench.io.run();
}

}  // namespace charmtree::ssh_link_test
