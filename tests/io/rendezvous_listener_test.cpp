// SPDX-License-Identifier: Apache-2.0
// The root's listener and the launchers that come to it, over 127.0.0.1 and in one event loop.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <thread>

#include "tests/io/loopback.hpp"
#include "tree/io/mpiexec/mpiexec_rank.hpp"
#include "tree/io/mpiexec/rendezvous_listener.hpp"

namespace charmtree::rendezvous_listener_test {

using namespace charmtree::io;

namespace {

const std::string kSecret(wire::Ticket::kSecret, 'k');
constexpr Duration kPatience = 20s;

struct Root {
  explicit Root(std::uint32_t processes)
      : rendezvous(processes, kPatience, {}),
        listener(io, kSecret, processes,
                 {[this](proto::RendezvousId launcher, const wire::RankReport& report) {
                    last = launcher;
                    rendezvous.report(launcher, report, Instant{});
                  },
                  [this](proto::RendezvousId, const Error&) { ++lost; },
                  [this](const std::string& note) { notes.push_back(note); }}),
        timer(io) {
    auto opened = listener.open();
    REQUIRE(opened.ok());
    port = *opened;
  }

  /// Runs the loop until then; false: in vain.
  bool until(const std::function<bool()>& done) {
    const auto over = std::make_shared<bool>(false);  // the handler runs after us
    timer.expires_after(kPatience);
    timer.async_wait([over](error_code ec) { *over = !ec; });
    while (!done() && !*over) io.run_one();
    timer.cancel();
    return done();
  }

  wire::Ticket ticket(const std::string& secret) const {
    const std::string nobody = "127.0.0.1:1", root = fmt::format("127.0.0.1:{}", port);
    return {CHARMTREE_VERSION, secret, 2, kPatience, "/nonexistent/script", {nobody, root}};
  }

  /// A socket that is connected to the listener.
  UniqueFd visitor() const {
    UniqueFd fd = connect_to_loopback(port);
    REQUIRE(fd);
    return fd;
  }

  asio::io_context io{1};
  proto::Rendezvous rendezvous;
  RendezvousListener listener;
  asio::steady_timer timer;
  std::uint16_t port = 0;
  proto::RendezvousId last = 0;
  int lost = 0;
  std::vector<std::string> notes;
};

bool is_closed(const UniqueFd& fd) {
  char byte = 0;
  return ::recv(fd.get(), &byte, 1, MSG_DONTWAIT) == 0 || errno == ECONNRESET;
}

}  // namespace

TEST_CASE("of the processes of a host the first becomes its launcher, until it ends", "[rendezvous]") {
  auto first = elect(kSecret, kPatience), second = elect(kSecret, kPatience);
  REQUIRE(first.ok());
  REQUIRE(second.ok());
  CHECK(first->listening);
  CHECK_FALSE(first->launcher);
  CHECK(second->launcher);
  auto other_start = elect(std::string(wire::Ticket::kSecret, 'o'), kPatience);
  CHECK(other_start->listening);
  first->listening.reset();
  CHECK(elect(kSecret, kPatience)->listening);
}

TEST_CASE("the link to a launcher is the connection by which its host's processes have come",
          "[rendezvous]") {
  Root root{2};
  auto own = elect(kSecret, kPatience), other = elect(kSecret, kPatience);
  REQUIRE((own.ok() && other.ok()));
  std::unique_ptr<Link> up, down;
  std::string at_root, at_launcher;
  auto launcher = std::make_unique<RankLauncher>(
      root.io, root.ticket(kSecret), std::move(*own),
      RankLauncher::Sink{[&](std::unique_ptr<Link> link) { up = std::move(link); },
                         [](const Error& error) { FAIL(error.what); }});
  std::thread waiting{[&] { wait_for_launcher(*other, {"here", 1, 2, {}}); }};
  launcher->start({"here", 0, 2, {}});
  CHECK(root.until([&] { return root.rendezvous.complete(); }));
  CHECK(root.rendezvous.seats() == std::vector<proto::Rendezvous::Seat>{{root.last, "here", 2}});
  CHECK(root.listener.address_of(root.last) == INADDR_LOOPBACK);
  root.listener.seat({root.last});
  root.listener.close();
  const auto log_in = [&] {
    LoginResult result;
    bool answered = false;
    root.listener.login(Host{}, Profile{}, {}, {}, [&](LoginResult its) {
      result = std::move(its);
      answered = true;
    });
    CHECK(root.until([&] { return answered; }));
    return result;
  };
  down = log_in().link;
  CHECK(down);
  CHECK(log_in().error.code == Errc::link_lost);  // once
  CHECK(root.until([&] { return up != nullptr; }));
  if (up && down) {
    down->start({[&](std::string_view bytes) { at_root += bytes; }, {}, {}});
    up->send("greeting");
    up->start({[&](std::string_view bytes) { at_launcher += bytes; }, {}, {}});
    down->send(std::string(1 << 20, 'w'));
    CHECK(root.until([&] { return at_root == "greeting" && at_launcher.size() == 1 << 20; }));
  }
  launcher.reset();  // for which the other process waits
  waiting.join();
  CHECK(root.lost == 0);
  CHECK(root.notes.empty());
}

TEST_CASE("a launcher with another secret never gets in, and gives up", "[rendezvous]") {
  Root root{2};
  const std::string other(wire::Ticket::kSecret, 'o');
  wire::Ticket ticket = root.ticket(other);
  ticket.patience = Duration{0};
  std::string why;
  RankLauncher launcher{
      root.io,
      ticket,
      std::move(*elect(other, kPatience)),
      {[](std::unique_ptr<Link>) { FAIL("it got in"); }, [&](const Error& error) { why = error.what; }}};
  launcher.start({"here", 0, 2, {}});
  CHECK(root.until([&] { return !why.empty() && !root.notes.empty(); }));
  CHECK(why.starts_with(fmt::format("cannot reach the root at 127.0.0.1:{}", root.port)));
  CHECK(root.notes == std::vector<std::string>{"refused a connection from 127.0.0.1: the other end does not "
                                               "know the secret of this start"});
  CHECK(root.last == 0);
}

TEST_CASE("visitors who say nothing are only so many; the one that is silent for longest goes",
          "[rendezvous]") {
  Root root{1};
  std::vector<UniqueFd> silent;
  for (std::size_t i = 0; i < 1 + RendezvousListener::kSpare; ++i) silent.push_back(root.visitor());
  UniqueFd babbler = root.visitor();
  CHECK(root.until([&] { return root.notes.size() == 1; }));
  CHECK(is_closed(silent[0]));
  CHECK_FALSE(is_closed(silent[1]));
  const std::string babble(64, 'b');
  CHECK(::send(babbler.get(), babble.data(), babble.size(), MSG_NOSIGNAL) == 64);
  CHECK(root.until([&] { return root.notes.size() == 2; }));
  for (std::size_t i = 0; i < 2 * RendezvousListener::kMaxNotes; ++i) {
    silent.push_back(root.visitor());  // each time one goes
    root.io.poll();
  }
  CHECK(root.until([&] { return is_closed(silent[RendezvousListener::kMaxNotes]); }));
  CHECK(root.notes.size() <= RendezvousListener::kMaxNotes);
  root.listener.close();
  CHECK(is_closed(silent.back()));
}

}  // namespace charmtree::rendezvous_listener_test
