// SPDX-License-Identifier: Apache-2.0
// Links to children whose answers wait: which of them are read. A child here is the other end of a pair of
// sockets.
#include "tree/io/link/links.hpp"
#include "kvs/fence/messages.hpp"

#include <catch2/catch.hpp>

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tree/base/overloaded.hpp"
#include "tree/io/link/fd_link.hpp"
#include "tree/io/write_all.hpp"

namespace charmtree::links_test {

using namespace charmtree::io;

namespace {

constexpr std::size_t kAnswer = 1'000'000;

/// Logs in at once: the test has the other ends.
class PairTransport : public SigningTransport {
public:
  explicit PairTransport(asio::io_context& io) : io_(io) {}
  LoginId login(const Host&, const Profile&, const std::string&, const LoginLimits&,
                std::function<void(LoginResult)> done) override {
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0);
    children.emplace_back(ends[1]);
    UniqueFd input{ends[0]}, output{::dup(ends[0])};
    LoginResult result;
    result.link = std::make_unique<FdLinkHandle>(
        FdLink::make(io_, std::move(input), std::move(output), {}, 0, nullptr));
    asio::post(
        io_, [done, shared = std::make_shared<LoginResult>(std::move(result))] { done(std::move(*shared)); });
    return 1;
  }
  void cancel(LoginId) override {}
  void set_signer(std::function<void(LoginId, std::string)>) override {}
  void give_signature(LoginId, std::string) override {}

  std::vector<UniqueFd> children;

private:
  asio::io_context& io_;
};

/// Each InquiryReply is answered by kAnswer bytes to the host whose number it has as asker.
struct Bench {
  asio::io_context io;
  PairTransport transport{io};
  Links links{io,
              wire::kCoreTypes,
              {&transport, &transport, &transport},
              [this](proto::Event event) { on(std::move(event)); },
              [](proto::LinkId) {},
              [](proto::LinkId) { return wire::Remit{}; }};
  int handled = 0;
  std::optional<proto::Evidence> evidence;
  std::vector<proto::LinkId> down;

  explicit Bench(std::uint32_t children) {
    ::signal(SIGPIPE, SIG_IGN);  // as in charmrun
    Profile profile;
    profile.launcher = "charmrun";
    for (std::uint32_t i = 0; i < children; ++i) {
      links.execute(proto::Login{i + 1, {}, profile, Via::command, 10s});
      io.poll();
      say(i + 1, wire::make_greeting());
    }
    run();
  }
  void on(proto::Event event) {
    const Overloaded act{[&](const proto::LinkMessage& m) {
                           const auto* reply = get_if<wire::InquiryReply>(&m.message);
                           if (reply == nullptr) return;
                           ++handled;
                           answer(reply->asker);
                         },
                         [&](const proto::Probed& e) { evidence = e.evidence; },
                         [&](const proto::LinkDown& e) { down.push_back(e.link); }, [](const auto&) {}};
    dispatch(act, event);
  }
  void answer(std::uint32_t link) {
    kvs::FenceDown fence;
    fence.given = std::make_shared<const std::string>(kAnswer, 'a');
    links.execute(proto::Send{link, fence});
  }
  void say(proto::LinkId link, const std::string& bytes) {
    REQUIRE(write_all(transport.children[link - 1].get(), bytes));
  }
  /// So many requests at once, which one read brings.
  void request(proto::LinkId from, std::uint32_t of, int count) {
    std::string bytes;
    for (int i = 0; i < count; ++i) bytes += *wire::encode_frames(wire::InquiryReply{0, of, {1, 1}, {}, {}});
    say(from, bytes);
  }
  /// Everything that can be done at once, and what is due in three looks at the links.
  void run() {
    io.restart();
    io.run_for(5 * proto::LinkFlow::kLook);
  }
  /// The child takes so many bytes, or what there is.
  std::size_t take(proto::LinkId link, std::size_t most) {
    std::string bytes(most, '\0');
    const ssize_t got = ::recv(transport.children[link - 1].get(), bytes.data(), most, MSG_DONTWAIT);
    return got > 0 ? static_cast<std::size_t>(got) : 0;
  }
};

}  // namespace

TEST_CASE("a child that does not take its answers is not read, in the midst of what has come", "[links]") {
  Bench b{2};
  b.request(1, 1, 64);
  b.run();
  const int held = b.handled;
  CHECK((held >= 5 && held <= 7));
  CHECK(b.links.backlog(1) <= proto::LinkFlow::kHeldAbove + 2 * kAnswer);
  b.request(2, 2, 1);
  b.run();
  CHECK(b.handled == held + 1);
  // It takes all of them, a little at a time.
  std::size_t taken = 0;
  for (int i = 0; i < 10'000 && taken < 64 * kAnswer; ++i) {
    const std::size_t got = b.take(1, 1U << 20);
    taken += got;
    if (got == 0) b.run();
    b.io.restart();
    b.io.poll();
  }
  CHECK(b.handled == 64 + 1);
  CHECK(taken >= 64 * kAnswer);
}

TEST_CASE("a child that fills the link of another one is held up, and goes on when that one is lost",
          "[links]") {
  Bench b{2};
  b.request(2, 1, 64);
  b.run();
  const int held = b.handled;
  CHECK((held >= 16 && held <= 20));
  b.links.execute(proto::CloseLink{1});
  b.run();
  CHECK(b.handled == 64);
}

TEST_CASE("the end of a child that is not read is noticed", "[links]") {
  Bench b{2};
  b.request(1, 1, 64);
  b.run();
  b.transport.children[0].reset();
  b.run();
  CHECK(b.down == std::vector<proto::LinkId>{1});
  b.request(2, 2, 1);
  b.run();
  CHECK(b.handled >= 6);
}

TEST_CASE("no more than some is read ahead of a child that floods", "[links]") {
  Bench b{1};
  b.request(1, 1, 10);
  b.run();
  const std::string flood(1U << 20, 'x');  // no message
  std::size_t written = 0;
  for (int i = 0; i < 100; ++i) {
    const ssize_t wrote = ::send(b.transport.children[0].get(), flood.data(), flood.size(), MSG_DONTWAIT);
    if (wrote > 0) written += static_cast<std::size_t>(wrote);
    b.io.restart();
    b.io.poll();
  }
  CHECK((written > (4U << 20) && written < (6U << 20)));
  CHECK(b.down.empty());
}

TEST_CASE("answers that are requested again are dropped where too much waits", "[links]") {
  Bench b{1};
  for (int i = 0; i < 64; ++i)
    b.links.execute(proto::Send{1, wire::Answered{0, 0, {1, 1}, {}, std::string(kAnswer, 'a')}});
  CHECK(b.links.backlog(1) <= proto::LinkFlow::kMostForOthers + 2 * kAnswer);
  const std::size_t before = b.links.backlog(1);
  b.links.execute(proto::Send{1, wire::Beat{}});
  CHECK(b.links.backlog(1) > before);
}

TEST_CASE("a child whose answers wait lives as long as it takes some", "[links]") {
  Bench b{1};
  b.request(1, 1, 64);
  b.run();
  b.run();
  b.say(1, *wire::encode_frames(wire::BeatUp{}));  // is not read
  b.run();
  b.links.execute(proto::Probe{1, 100ms, 100ms});
  REQUIRE(b.evidence);
  CHECK(b.evidence->heard >= 10 * proto::LinkFlow::kLook);
  while (b.take(1, 1U << 20) > 0) {
  }
  b.run();
  b.links.execute(proto::Probe{1, 100ms, 100ms});
  CHECK(b.evidence->heard < 10 * proto::LinkFlow::kLook);
}

}  // namespace charmtree::links_test
