// SPDX-License-Identifier: Apache-2.0
// The service of ++kill and ++detach: whose orders charmrun takes, and what it answers.
#include "charmrun/control/order_service.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <csignal>
#include <optional>
#include <thread>
#include <vector>

#include "charmrun/control/control_socket.hpp"
#include "charmrun/control/protocol.hpp"
#include "tree/io/listener.hpp"
#include "tree/io/unique_fd.hpp"

namespace charmtree::order_service_test {

using namespace charmtree::control;
using charmtree::io::connect_to_own;
using charmtree::io::local_address;
using charmtree::io::UniqueFd;
namespace asio = charmtree::io::asio;

namespace {

/// Of this run of the test alone.
std::string some_job(int number) {
  return fmt::format("{:08x}{:08x}", ::getpid(), number);
}

/// A charmrun that does nothing else, in a thread of its own.
class Root {
public:
  using Obey = std::function<Result<void>(Order, asio::io_context&)>;
  Root(const std::string& job, Obey obey) {
    listener_.emplace(io_);
    serve_orders(*listener_, [this, obey = std::move(obey)](Order order) { return obey(order, io_); });
    REQUIRE(listener_->open(job));
    ::signal(SIGPIPE, SIG_IGN);  // as each charmrun does
    thread_ = std::thread{[this] {
      io_.run();
      listener_->drain({}, 1s);
      listener_->finish();
      listener_.reset();  // as a charmrun that ends
    }};
  }
  Root(const Root&) = delete;
  Root& operator=(const Root&) = delete;
  ~Root() {
    io_.stop();
    thread_.join();
  }

private:
  asio::io_context io_{1};
  std::optional<Listener> listener_;
  std::thread thread_;
};

Result<void> refuse(Order, asio::io_context&) {
  return Error{Errc::refused, Phase::run, "not now", "come again"};
}

/// What comes until the end of the connection.
std::string rest_of(const UniqueFd& fd) {
  REQUIRE(::fcntl(fd.get(), F_SETFL, 0) == 0);
  std::string text;
  std::array<char, 256> part;
  for (ssize_t size = 1; size > 0;) {
    size = ::recv(fd.get(), part.data(), part.size(), 0);
    if (size > 0) text.append(part.data(), static_cast<std::size_t>(size));
  }
  return text;
}

}  // namespace

TEST_CASE("an order is carried out, and give_order returns when charmrun has gone", "[orders]") {
  const Order order = GENERATE(Order::kill, Order::detach);
  const std::string job = some_job(1);
  std::vector<Order> heard;
  const Root root{job, [&](Order given, asio::io_context& io) {
                    heard.push_back(given);
                    io.stop();
                    return Result<void>{};
                  }};
  CHECK(is_held_here(job));
  REQUIRE(give_order(job, order));
  CHECK(heard == std::vector{order});
}

TEST_CASE("a job without a charmrun is not held, and takes no orders", "[orders]") {
  const std::string job = some_job(7);
  CHECK_FALSE(is_held_here(job));
  CHECK(give_order(job, Order::kill).error().what == "the charmrun of job " + job + " does not answer");
}

TEST_CASE("the reason for which an order is refused is reported", "[orders]") {
  const std::string job = some_job(2);
  const Root root{job, refuse};
  for (int time = 0; time < 2; ++time) {
    const auto given = give_order(job, Order::detach);
    REQUIRE_FALSE(given);
    CHECK(given.error().what == "not now");
    CHECK(given.error().fix == "come again");
  }
}

TEST_CASE("an order finds a charmrun whose name is taken, and nothing else", "[orders]") {
  const std::string job = some_job(3);
  const auto address = local_address(socket_name(job));
  UniqueFd taken{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  REQUIRE(::bind(taken.get(), address->get(), address->size) == 0);
  {
    const Root root{job, refuse};
    CHECK(give_order(job, Order::kill).error().what == "not now");
  }
  REQUIRE(::listen(taken.get(), 4) == 0);
  std::thread ends{[&] { const UniqueFd one{::accept(taken.get(), nullptr, nullptr)}; }};
  const auto given = give_order(job, Order::kill);
  ends.join();
  REQUIRE_FALSE(given);
  CHECK(given.error().what == "the charmrun of job " + job + " does not answer");
}

TEST_CASE("a charmrun does not take orders that it does not know, and goes on", "[orders]") {
  const std::string job = some_job(4);
  const Root root{job, refuse};
  const UniqueFd fd = connect_to_own(socket_name(job));
  const std::string unknown = encode(Hello{kVersion, "9.9"}) + encode(Open{std::string{kOrderService}}) +
                              wire::make_frame(kServiceFrames + 1, "\x07");
  REQUIRE(::send(fd.get(), unknown.data(), unknown.size(), MSG_NOSIGNAL) > 0);
  CHECK(rest_of(fd).find("use the same charmrun for both") != std::string::npos);
  CHECK(give_order(job, Order::kill).error().what == "not now");
}

TEST_CASE("a charmrun takes no orders of another user", "[orders]") {
  if (::geteuid() != 0) return;  // only root can be two users
  const std::string job = some_job(5);
  bool heard = false;
  const auto address = local_address(socket_name(job));
  const Root root{job, [&](Order, asio::io_context&) {
                    heard = true;
                    return Result<void>{};
                  }};
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    char answer = 0;
    if (::setuid(64'123) != 0) ::_exit(1);
    const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
    if (::connect(fd, address->get(), address->size) != 0) ::_exit(2);
    const std::string kill = encode(Hello{kVersion, own_version()}) +
                             encode(Open{std::string{kOrderService}}) +
                             *encode(OrderMessage{OrderRequest{Order::kill}});
    (void)::send(fd, kill.data(), kill.size(), MSG_NOSIGNAL);
    ::_exit(::recv(fd, &answer, 1, 0) <= 0 ? 0 : 3);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK_FALSE(heard);
}

}  // namespace charmtree::order_service_test
