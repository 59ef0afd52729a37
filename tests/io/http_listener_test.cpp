// SPDX-License-Identifier: Apache-2.0
// The web server of the dashboard and those who come to it, over 127.0.0.1: visitors block in a thread, the
// loop runs in the test's.
#include "tree/io/http_listener.hpp"
#include "tests/io/loopback.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <catch2/catch.hpp>
#include <functional>
#include <thread>
#include <vector>

#include "tree/io/http_request.hpp"
#include "tree/io/unique_fd.hpp"

namespace charmtree::http_listener_test {

using namespace charmtree::io;

namespace {

constexpr int kPatienceMs = 60'000;  // of a visitor, on a slow machine
const std::string kPage = "<style>a{}</style><script>1</script>";

struct Bench {
  explicit Bench(Duration patience = HttpListener::kPatience)
      : listener(io, kPage,
                 {[this](HttpListener::Ticket ticket, const std::string& target) { asked(ticket, target); },
                  [this](HttpListener::Ticket ticket) { gone.push_back(ticket); }, [](const std::string&) {}},
                 patience) {
    const auto opened = listener.open();
    REQUIRE(opened.ok());
    port = *opened;
  }
  void asked(HttpListener::Ticket ticket, const std::string& target) {
    waiting.push_back(ticket);
    if (target == "/now") listener.answer(ticket, "{\"a\":1}");
    if (target == "/never") listener.answer(ticket, {});
  }
  /// Runs the loop while `visit` is under way in a thread.
  void during(const std::function<void()>& visit) {
    auto work = asio::make_work_guard(io);
    std::thread visitor{[&] {
      visit();
      work.reset();
      asio::post(io, [this] { io.stop(); });
    }};
    io.restart();
    io.run();
    visitor.join();
  }
  UniqueFd visitor() const { return connect_to_loopback(port); }
  std::string request(const std::string& target, const std::string& more = {}) const {
    return fmt::format("GET {} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\n{}\r\n", target,
                       port, listener.token(), more);
  }

  asio::io_context io{1};
  std::vector<HttpListener::Ticket> waiting, gone;
  HttpListener listener;
  std::uint16_t port = 0;
};

void send_to(const UniqueFd& fd, const std::string& bytes) {
  static_cast<void>(::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
}

/// What comes until the connection ends or so many answers with a body of JSON or a line have come.
std::string read_from(const UniqueFd& fd, int answers = 100) {
  std::string text;
  std::array<char, 65536> bytes;
  pollfd waiting{fd.get(), POLLIN, 0};
  const auto complete = [&] {
    int count = 0;
    for (std::size_t at = 0; (at = text.find("{\"a\":1}", at)) != std::string::npos; ++at) ++count;
    return count >= answers;
  };
  while (!complete() && ::poll(&waiting, 1, kPatienceMs) == 1) {
    const ssize_t got = ::recv(fd.get(), bytes.data(), bytes.size(), 0);
    if (got <= 0) return text + "<end>";
    text.append(bytes.data(), static_cast<std::size_t>(got));
  }
  return text;
}

bool is_closed(const UniqueFd& fd) {
  return read_from(fd) == "<end>";
}

}  // namespace

TEST_CASE("the page is for every visitor of ours, and may use its own script and style alone", "[http]") {
  Bench bench;
  std::string answer;
  bench.during([&] {
    const UniqueFd visitor = bench.visitor();
    send_to(visitor, "GET / HTTP/1.1\r\nHost: localhost:1234\r\nConnection: close\r\n\r\n");
    answer = read_from(visitor);
  });
  CHECK(answer.starts_with("HTTP/1.1 200 OK\r\n"));
  CHECK(answer.ends_with("\r\n\r\n" + kPage + "<end>"));
  for (const char* line :
       {"Content-Type: text/html; charset=utf-8\r\n", "Referrer-Policy: no-referrer\r\n",
        "X-Content-Type-Options: nosniff\r\n", "Cache-Control: no-store\r\n", "X-Frame-Options: DENY\r\n",
        "default-src 'none'; script-src 'sha256-a4ayc/80/OGda4BO/1o/V0etpOqiLx1JwB5S3beHW0s='; style-src "
        "'sha256-"})
    CHECK_THAT(answer, Catch::Contains(line));
  CHECK_THAT(answer, !Catch::Contains("Access-Control"));
  CHECK_THAT(answer, !Catch::Contains(bench.listener.token()));
}

TEST_CASE("who has no token, comes by another name or does something else is turned away", "[http]") {
  Bench bench;
  const std::string token = bench.listener.token(), good = "Authorization: Bearer " + token + "\r\n";
  const std::string host = "Host: 127.0.0.1:1\r\n";
  CHECK(token.size() == 2 * HttpListener::kTokenBytes);
  std::vector<std::string> answers;
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"GET /now HTTP/1.1\r\n" + host + "\r\n", "403"},
      {"GET /now HTTP/1.1\r\n" + host + "Authorization: Bearer " + std::string(token.size(), '0') +
           "\r\n\r\n",
       "403"},
      {"GET /now HTTP/1.1\r\n" + host + "Authorization: Bearer " + token + "0\r\n\r\n", "403"},
      {"GET /now?token=" + token + " HTTP/1.1\r\n" + host + "\r\n", "403"},
      {"GET / HTTP/1.1\r\nHost: evil.example:1\r\n" + good + "\r\n", "403"},
      {"GET / HTTP/1.1\r\nHost: 127.0.0.1.evil.example\r\n" + good + "\r\n", "403"},
      {"GET / HTTP/1.1\r\n" + good + "\r\n", "403"},
      {"POST /now HTTP/1.1\r\n" + host + good + "\r\n", "405"},
      {"OPTIONS /now HTTP/1.1\r\n" + host + good + "\r\n", "405"},
      {"GET /now HTTP/1.1\r\n" + host + good + "Content-Length: 4\r\n\r\n1234", "400"},
      {"GET /never HTTP/1.1\r\n" + host + good + "\r\n", "404"},
      {"\x16\x03\x01\x02", "400"},
      {"GET /" + std::string(HttpReader::kMaxHead, 'x'), "400"},
  };
  bench.during([&] {
    for (const auto& [request, status] : cases) {
      const UniqueFd visitor = bench.visitor();
      send_to(visitor, request);
      answers.push_back(read_from(visitor));
    }
  });
  for (std::size_t i = 0; i < cases.size(); ++i) {
    INFO(cases[i].first);
    CHECK(answers[i].starts_with("HTTP/1.1 " + cases[i].second));
    CHECK(answers[i].ends_with("<end>"));
  }
  CHECK(bench.waiting.size() == 1);  // only what there is not
}

TEST_CASE("requests of one connection are answered in order, now or when there is something to say",
          "[http]") {
  Bench bench;
  std::string first, second;
  UniqueFd visitor;
  bench.during([&] {
    visitor = bench.visitor();
    send_to(visitor, bench.request("/now") + bench.request("/later") + bench.request("/now"));
    first = read_from(visitor, 1);
    asio::post(bench.io, [&] { bench.listener.answer(bench.waiting.back(), "{\"b\":2}"); });
    second = read_from(visitor, 1);
  });
  CHECK_THAT(first, Catch::Contains("application/json") && Catch::Contains("Content-Length: 7\r\n"));
  CHECK(second.find("{\"b\":2}") < second.find("{\"a\":1}"));
  CHECK(bench.waiting == std::vector<HttpListener::Ticket>{1, 1, 1});
  CHECK(bench.listener.expected() == 1);
}

TEST_CASE("a visitor that goes while it waits is given up, and the last answer ends the connection",
          "[http]") {
  Bench bench;
  std::string answer;
  bench.during([&] {
    UniqueFd one = bench.visitor();
    const UniqueFd other = bench.visitor();
    send_to(one, bench.request("/later"));
    send_to(other, bench.request("/now"));
    read_from(other, 1);  // so that the first is waiting, too
    one.reset();
    asio::post(bench.io, [&] { bench.listener.close(); });
    send_to(other, bench.request("/now"));
    answer = read_from(other);
  });
  CHECK(bench.gone == std::vector<HttpListener::Ticket>{1});
  CHECK(answer.ends_with("{\"a\":1}<end>"));
  CHECK(bench.listener.expected() == 0);
}

TEST_CASE("of too many visitors one that asks nothing makes room; those who wait stay", "[http]") {
  Bench bench;
  bool first_closed = false, last_closed = false;
  std::string answer;
  std::vector<UniqueFd> idle;
  UniqueFd another;
  bench.during([&] {
    for (std::size_t i = 0; i < HttpListener::kMaxVisitors; ++i) idle.push_back(bench.visitor());
    another = bench.visitor();
    send_to(another, bench.request("/now"));
    answer = read_from(another, 1);
    first_closed = is_closed(idle.front());
    for (std::size_t i = 1; i < HttpListener::kMaxVisitors; ++i) send_to(idle[i], bench.request("/later"));
    send_to(another, bench.request("/later"));
    const UniqueFd late = bench.visitor();
    send_to(late, bench.request("/now"));
    last_closed = !read_from(late).starts_with("HTTP/1.1 200");
  });
  CHECK_THAT(answer, Catch::Contains("200 OK"));
  CHECK(first_closed);
  CHECK(last_closed);
  CHECK(bench.gone.empty());
}

TEST_CASE("who is silent, slow to ask or does not read is put out after a while", "[http]") {
  Bench bench{300ms};
  bool silent = false, slow = false;
  std::string partly;
  bench.during([&] {
    const UniqueFd nobody = bench.visitor(), halting = bench.visitor(), deaf = bench.visitor();
    send_to(halting, "GET / HTTP/1.1\r\nHo");
    send_to(deaf, bench.request("/later"));
    silent = is_closed(nobody);
    slow = is_closed(halting);
    asio::post(bench.io, [&] { bench.listener.answer(bench.waiting.front(), std::string(64U << 20, 'x')); });
    const UniqueFd next = bench.visitor();
    CHECK(is_closed(next));  // it was let in after the answer had begun
    partly = read_from(deaf);
  });
  CHECK(silent);
  CHECK(slow);
  CHECK(partly.size() < (64U << 20));
  CHECK(partly.ends_with("<end>"));
}

}  // namespace charmtree::http_listener_test
