// SPDX-License-Identifier: Apache-2.0
// The control socket: how a connection begins, and what becomes of clients that break the protocol, are
// silent, do not read, or are too many.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <csignal>
#include <memory>
#include <thread>
#include <vector>

#include "charmrun/control/client.hpp"
#include "charmrun/control/control_socket.hpp"
#include "charmrun/control/listener.hpp"
#include "charmrun/control/status_service.hpp"
#include "tree/io/clock.hpp"
#include "tree/io/listener.hpp"
#include "tree/io/unique_fd.hpp"

namespace charmtree::control_listener_test {

using namespace charmtree::control;

namespace {

constexpr std::uint8_t kEcho = kServiceFrames;

/// Of this run of the test alone.
std::string some_job() {
  static int last = 0;
  return fmt::format("{:08x}c{:07x}", ::getpid(), ++last);
}

/// A charmrun with a service that returns each frame that it gets, "echo", and with status; in a thread.
class Charmrun {
public:
  explicit Charmrun(const Listener::Limits& limits = {}, Duration patience = 60s) : listener_(io_, limits) {
    Service echo;
    echo.name = "echo";
    echo.max_clients = 2;
    echo.max_unread = 1U << 20;
    echo.patience = patience;
    echo.opened = [this](ClientId) { ++opened; };
    echo.received = [this](ClientId client, const wire::Frame& frame) {
      if (frame.type != kEcho) return false;
      listener_.send(client, wire::make_frame(kEcho, frame.payload));
      return true;
    };
    echo.closed = [this](ClientId) { ++closed; };
    listener_.add(std::move(echo));
    serve_status(listener_, [] { return "fine"; });
    REQUIRE(listener_.open(job));
    ::signal(SIGPIPE, SIG_IGN);  // as each charmrun does
    thread_ = std::thread{[this] { io_.run(); }};
  }
  Charmrun(const Charmrun&) = delete;
  Charmrun& operator=(const Charmrun&) = delete;
  ~Charmrun() {
    io_.stop();
    thread_.join();
  }

  io::UniqueFd connect() const { return io::connect_to_own(socket_name(job)); }

  const std::string job = some_job();
  std::atomic<int> opened = 0, closed = 0;

private:
  io::asio::io_context io_{1};
  Listener listener_;
  std::thread thread_;
};

std::string request(const std::string& service, const std::string& charmrun = own_version()) {
  return encode(Hello{kVersion, charmrun}) + encode(Open{service});
}

/// Sends these bytes, and reads to the end of the connection, or until a service has been opened.
std::vector<Message> answers_to(const io::UniqueFd& fd, const std::string& bytes) {
  (void)::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  REQUIRE(::fcntl(fd.get(), F_SETFL, 0) == 0);
  wire::FrameDecoder decoder{wire::kMaxLinkFrame};
  std::vector<Message> answers;
  std::array<char, 4096> piece;
  for (;;) {
    const auto frame = decoder.next();
    REQUIRE(frame);
    if (frame->has_value()) {
      const auto message = decode(**frame);
      if (!message) return answers;
      answers.push_back(*message);
      if (std::holds_alternative<Opened>(*message)) return answers;
      continue;
    }
    const ssize_t size = ::recv(fd.get(), piece.data(), piece.size(), 0);
    if (size <= 0) return answers;
    decoder.append({piece.data(), static_cast<std::size_t>(size)});
  }
}

/// The reason for which a client is refused that sends these bytes. It comes after a hello, and is the last.
std::string refusal_of(const Charmrun& charmrun, const std::string& bytes) {
  const auto answers = answers_to(charmrun.connect(), bytes);
  REQUIRE(answers.size() == 2);
  REQUIRE(std::get_if<Hello>(&answers.front()) != nullptr);
  const auto* refused = std::get_if<Refused>(&answers.back());
  REQUIRE(refused != nullptr);
  return refused->what;
}

/// The charmrun still serves.
bool serves(const Charmrun& charmrun) {
  auto client = open_service(charmrun.job, kStatusService);
  if (!client) return false;
  const auto status = receive<StatusMessage>(*client, io::now() + 30s);
  return status && status->has_value() && std::get<Status>(**status).json == "fine";
}

}  // namespace

TEST_CASE("a connection begins with a hello of each side, and opens a service", "[control]") {
  Charmrun charmrun;
  const io::UniqueFd fd = charmrun.connect();
  const auto answers = answers_to(fd, request("echo"));
  REQUIRE(answers.size() == 2);
  CHECK(std::get<Hello>(answers[0]).version == kVersion);
  CHECK(std::get<Hello>(answers[0]).charmrun == own_version());
  CHECK(std::holds_alternative<Opened>(answers[1]));
  CHECK(charmrun.opened == 1);
}

TEST_CASE("the frames of a service arrive, however the bytes are cut", "[control]") {
  Charmrun charmrun;
  auto client = open_service(charmrun.job, "echo");
  REQUIRE(client);
  for (const char byte : wire::make_frame(kEcho, "one")) REQUIRE(client->send({&byte, 1}));
  REQUIRE(client->send(wire::make_frame(kEcho, "two") + wire::make_frame(kEcho, "three")));
  for (const std::string text : {"one", "two", "three"}) {
    auto frame = client->next();
    while (frame && !frame->has_value()) {
      REQUIRE(read_some({&*client, 1}, io::now() + 30s));
      frame = client->next();
    }
    REQUIRE(frame);
    CHECK((*frame)->payload == text);
  }
}

TEST_CASE("a client that does not speak the protocol gets one line, and others are served", "[control]") {
  Charmrun charmrun;
  const std::string what = "this connection does not speak the control protocol of charmrun";
  CHECK(refusal_of(charmrun, "GET / HTTP/1.1\r\n\r\n") == what);
  CHECK(refusal_of(charmrun, encode(Open{"echo"})) == what);  // without a hello
  CHECK(refusal_of(charmrun, encode(Hello{kVersion, {}})) == what);
  CHECK(refusal_of(charmrun, encode(Hello{kVersion, "1"}) + encode(Hello{kVersion, "1"})) == what);
  CHECK(refusal_of(charmrun, encode(Opened{})) == what);
  CHECK(refusal_of(charmrun, encode(Refused{"no", {}})) == what);
  CHECK(refusal_of(charmrun, wire::make_frame(kEcho, "too early")) == what);
  CHECK(refusal_of(charmrun, wire::make_frame(0, "\x01")) == what);
  CHECK(refusal_of(charmrun, encode(Hello{}).substr(0, 4) + "\x07" + "not a version of frames") == what);
  CHECK(charmrun.opened == 0);
  CHECK(serves(charmrun));
}

TEST_CASE("a frame that is too long is refused at its first bytes", "[control]") {
  Charmrun charmrun;
  const std::string what = "this connection does not speak the control protocol of charmrun";
  CHECK(refusal_of(charmrun, wire::make_frame_header(0, Listener::kMaxFirstFrame + 1)) == what);
  const io::UniqueFd fd = charmrun.connect();
  REQUIRE(answers_to(fd, request("echo")).size() == 2);
  const auto answers = answers_to(fd, wire::make_frame_header(kEcho, wire::kMaxClientFrame + 1));
  REQUIRE(answers.size() == 1);
  CHECK(std::get<Refused>(answers[0]).what == what);
  CHECK(serves(charmrun));
  CHECK(charmrun.closed == 1);
}

TEST_CASE("another version, and a service that there is not, are named", "[control]") {
  Charmrun charmrun;
  CHECK(refusal_of(charmrun, encode(Hello{kVersion + 1, "9"})) ==
        fmt::format("the charmrun of that job has version {} of the control protocol, and the client has {}",
                    kVersion, kVersion + 1));
  CHECK(refusal_of(charmrun, request("echo", "9.9 (protocol 99)")) ==
        fmt::format("the charmrun of that job is of another version, {}; this is 9.9 (protocol 99)",
                    own_version()));
  CHECK(refusal_of(charmrun, request("tea")) == "the charmrun of that job has no service 'tea'");
  const auto unknown = open_service(charmrun.job, "tea");
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().what == "the charmrun of that job has no service 'tea'");
  CHECK(unknown.error().fix == "use the same charmrun for both");
}

TEST_CASE("a charmrun of another version still answers for its status", "[control]") {
  Charmrun charmrun;
  const auto answers = answers_to(charmrun.connect(), request("status", "9.9 (protocol 99)"));
  REQUIRE(answers.size() == 2);
  CHECK(std::holds_alternative<Opened>(answers[1]));
}

TEST_CASE("a message that is none of the service ends the connection, with a reason", "[control]") {
  Charmrun charmrun;
  auto client = open_service(charmrun.job, "echo");
  REQUIRE(client);
  REQUIRE(client->send(wire::make_frame(kEcho + 1, "")));
  auto frame = client->next();
  while (frame && read_some({&*client, 1}, io::now() + 30s)) frame = client->next();
  REQUIRE_FALSE(frame);
  CHECK(frame.error().fix == "use the same charmrun for both");
  CHECK(serves(charmrun));
  CHECK(charmrun.closed == 1);
}

TEST_CASE("silent clients are closed, with a reason", "[control]") {
  Charmrun charmrun{{1536, 500ms, 2s}, 500ms};
  const io::UniqueFd silent = charmrun.connect();
  const auto answers = answers_to(silent, {});
  REQUIRE(answers.size() == 2);
  CHECK(std::get<Refused>(answers[1]).what == "the client has not opened a service in time");
  const io::UniqueFd idle = charmrun.connect();
  REQUIRE(answers_to(idle, request("echo")).size() == 2);
  const auto last = answers_to(idle, {});
  REQUIRE(last.size() == 1);
  CHECK(std::get<Refused>(last[0]).what == "the client has not said in time what it wants");
}

TEST_CASE("a client that does not read is closed before it costs much", "[control]") {
  Charmrun charmrun;
  auto client = open_service(charmrun.job, "echo");
  REQUIRE(client);
  const std::string frame = wire::make_frame(kEcho, std::string(512U << 10, 'x'));
  REQUIRE(::fcntl(client->descriptor(), F_SETFL, 0) == 0);
  std::size_t sent = 0;
  while (sent < 256U << 20) {  // the connection ends long before
    const ssize_t size = ::send(client->descriptor(), frame.data(), frame.size(), MSG_NOSIGNAL);
    if (size != static_cast<ssize_t>(frame.size())) break;
    sent += frame.size();
  }
  CHECK(sent < 16U << 20);
  CHECK(serves(charmrun));
  CHECK(charmrun.closed == 1);
}

TEST_CASE("a service has so many clients, and the socket so many connections", "[control]") {
  Charmrun charmrun{{4, 60s, 2s}};
  std::vector<Client> clients;
  for (int i = 0; i < 2; ++i) {
    auto client = open_service(charmrun.job, "echo");
    REQUIRE(client);
    clients.push_back(std::move(*client));
  }
  CHECK(refusal_of(charmrun, request("echo")) ==
        "that job has 2 clients of its service 'echo', as many as it may");
  CHECK(serves(charmrun));
  std::vector<io::UniqueFd> silent;
  while (silent.size() < 2) silent.push_back(charmrun.connect());
  CHECK(refusal_of(charmrun, {}) == "this job has too many clients");
  clients.clear();
  while (!serves(charmrun)) continue;  // it notices in its own time
  CHECK(charmrun.closed == 2);
}

TEST_CASE("many clients at once are all served", "[control]") {
  Charmrun charmrun;
  std::vector<Client> clients;
  for (int i = 0; i < 300; ++i) {
    clients.emplace_back(charmrun.job, charmrun.connect(), kStatusService);
    REQUIRE(clients.back().is_connected());
  }
  std::size_t answered = 0;
  for (Client& client : clients) {
    const auto status = receive<StatusMessage>(client, io::now() + 30s);
    answered += status && status->has_value() ? 1 : 0;
  }
  CHECK(answered == 300);
  CHECK(serves(charmrun));
}

TEST_CASE("a client waits for no charmrun that is silent or not there", "[control]") {
  const std::string job = some_job();
  const Error silent{Errc::refused, Phase::connect, "silent", {}};
  CHECK(open_service(job, "echo", silent).error() == silent);
  io::asio::io_context io{1};
  io::Listener closes{io, [](int fd, io::Listener::Peer) { ::close(fd); }};
  REQUIRE(closes.open_local(socket_name(job)));
  closes.accept();
  std::thread thread{[&] { io.run(); }};
  CHECK(open_service(job, "echo", silent).error() == silent);
  io.stop();
  thread.join();
}

}  // namespace charmtree::control_listener_test
